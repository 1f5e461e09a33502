// The CORS rules of a bucket, as the tools of its provider take them.

import { fill, h, unique } from "../dom.js";
import { segmented } from "../form.js";
import { codeBlock, message } from "../parts.js";

const headers = ["ETag", "Content-Encoding", "Location", "x-amz-version-id", "x-amz-checksum-sha256"];
const ossHeaders = ["ETag", "Content-Encoding", "Location", "x-oss-version-id", "x-oss-hash-crc64ecma"];

/**
 * What pages send to Google Cloud Storage and read from it. Its rules have one list for both, and Google documents "*"
 * for origins and methods only.
 */
const googleHeaders = [
  "Content-Type",
  "Content-MD5",
  "Content-Encoding",
  "Range",
  "ETag",
  "Location",
  "x-goog-generation",
  "x-goog-hash",
  "x-goog-if-generation-match",
  "x-goog-content-length-range",
];

const xml = (text) => text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);

function rulesXML(origins, methods, exposed, age) {
  return [
    "<CORSConfiguration>",
    "  <CORSRule>",
    ...origins.map((origin) => `    <AllowedOrigin>${xml(origin)}</AllowedOrigin>`),
    ...methods.map((method) => `    <AllowedMethod>${method}</AllowedMethod>`),
    "    <AllowedHeader>*</AllowedHeader>",
    ...exposed.map((name) => `    <ExposeHeader>${name}</ExposeHeader>`),
    `    <MaxAgeSeconds>${age}</MaxAgeSeconds>`,
    "  </CORSRule>",
    "</CORSConfiguration>",
  ].join("\n");
}

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

const methods = ["GET", "HEAD", "PUT", "POST"];
const age = 3600;

/** How each tool takes the rules: `file` holds them, `line` uploads the file. */
const tools = {
  aws: {
    words: "AWS CLI",
    file: "cors.json",
    rules: (origins) =>
      JSON.stringify(
        {
          CORSRules: [
            {
              AllowedOrigins: origins,
              AllowedMethods: methods,
              AllowedHeaders: ["*"],
              ExposeHeaders: headers,
              MaxAgeSeconds: age,
            },
          ],
        },
        null,
        2,
      ),
    line: (bucket) =>
      `aws s3api put-bucket-cors --bucket ${quoted(bucket.name)} --cors-configuration file://cors.json` +
      (bucket.provider === "aws" ? "" : ` \\\n    --endpoint-url ${quoted(bucket.endpoint)}`),
  },
  s3cmd: {
    words: "s3cmd",
    file: "cors.xml",
    rules: (origins) => rulesXML(origins, methods, headers, age),
    line: (bucket) => `s3cmd setcors cors.xml ${quoted(`s3://${bucket.name}`)}`,
  },
  mc: {
    words: "MinIO client",
    file: "cors.xml",
    rules: (origins) => rulesXML(origins, methods, headers, age),
    line: (bucket) => `mc cors set ${quoted(`store/${bucket.name}`)} cors.xml`,
  },
  oss: {
    words: "ossutil",
    file: "cors.xml",
    rules: (origins) => rulesXML(origins, methods, ossHeaders, age),
    line: (bucket) => `ossutil cors --method put ${quoted(`oss://${bucket.name}`)} cors.xml`,
  },
  gcs: {
    words: "gcloud",
    file: "cors.json",
    rules: (origins) =>
      JSON.stringify(
        [{ origin: origins, method: methods, responseHeader: googleHeaders, maxAgeSeconds: age }],
        null,
        2,
      ),
    line: (bucket) => `gcloud storage buckets update ${quoted(`gs://${bucket.name}`)} --cors-file=cors.json`,
    note: "If pages send metadata, add x-goog-meta-NAME for each name of it.",
  },
};

const byProvider = { aws: ["aws", "s3cmd"], s3: ["aws", "s3cmd", "mc"], oss: ["oss"], gcs: ["gcs"] };

/** Returns the rules for the bucket's origins, or for origins that a person writes. */
export function corsRules(bucket) {
  const names = byProvider[bucket.provider] ?? ["aws"];
  let chosen = names[0];
  const place = h("div", { class: "stack" });
  const hint = h("div");
  const input = h("textarea", {
    id: unique("origins"),
    rows: "2",
    class: "code",
    spellcheck: "false",
    placeholder: "https://app.example",
    value: bucket.allowedOrigins.join("\n"),
    on: { input: () => draw() },
  });
  const origins = () => [...new Set(input.value.split(/\s+/).filter(Boolean))];
  function draw() {
    const all = origins();
    const wrong = all.filter((origin) => origin !== "*" && !isOrigin(origin));
    const unknown = all.filter((origin) => origin !== "*" && !bucket.allowedOrigins.includes(origin));
    const { rules, line, file, note } = tools[chosen];
    input.setAttribute("aria-invalid", String(wrong.length > 0));
    fill(
      hint,
      wrong.length
        ? message("warn", null, h("p", {}, "An origin is a scheme and a host, such as https://app.example."))
        : unknown.length
          ? message(
              "info",
              null,
              h("p", {}, "Also add them to the bucket's allowed origins, so that tests check them."),
            )
          : null,
    );
    fill(
      place,
      all.length && !wrong.length
        ? [
            h("p", { class: "faint" }, `Save as ${file}:`),
            codeBlock(rules(all)),
            note ? h("p", { class: "faint" }, note) : null,
            codeBlock(line(bucket)),
          ]
        : h("p", { class: "faint" }, "Write the origins of your pages to see the rules."),
    );
  }
  draw();
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "field" }, h("label", { for: input.id }, "Origins of your pages, one a line"), input),
    hint,
    names.length > 1
      ? segmented(
          "Tool",
          names.map((name) => tools[name].words),
          0,
          (index) => {
            chosen = names[index];
            draw();
          },
        )
      : null,
    place,
  );
}

function isOrigin(text) {
  return URL.canParse(text) && new URL(text).origin === text;
}
