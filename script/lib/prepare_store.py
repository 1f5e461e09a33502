"""Makes the bucket of a test store and, where asked for, a session by AssumeRole.

Usage: prepare_store.py ENDPOINT REGION ACCESS_KEY SECRET_KEY BUCKET [STS_ENDPOINT ROLE_ARN]

Prints the session as three lines: access key, secret key, token.
"""

import sys

import boto3
from botocore.config import Config


def main(endpoint, region, access_key, secret_key, bucket, sts_endpoint=None, role=None):
    account = {
        "region_name": region,
        "aws_access_key_id": access_key,
        "aws_secret_access_key": secret_key,
    }
    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 10, "mode": "standard"})
    boto3.client("s3", endpoint_url=endpoint, config=config, **account).create_bucket(Bucket=bucket)
    if sts_endpoint:
        sts = boto3.client("sts", endpoint_url=sts_endpoint, **account)
        session = sts.assume_role(RoleArn=role, RoleSessionName="tests", DurationSeconds=3600)["Credentials"]
        print(session["AccessKeyId"], session["SecretAccessKey"], session["SessionToken"], sep="\n")


main(*sys.argv[1:])
