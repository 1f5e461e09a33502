-- Once, as a superuser on the primary. Each role also gets a password: \password sluice_owner, \password sluice
CREATE ROLE sluice_owner LOGIN;
CREATE ROLE sluice_gateway NOLOGIN;
CREATE ROLE sluice LOGIN IN ROLE sluice_gateway;
CREATE DATABASE sluice OWNER sluice_owner TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';
