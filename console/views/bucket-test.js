// The test of a bucket at its store: what it asks, and what it found.

import { fill, h, isAbort } from "../dom.js";
import { code, duration } from "../format.js";
import { button, card, message, problemBox } from "../parts.js";
import { stepList, testing, verdict } from "./checks.js";

/** The words for the steps of a test. */
const stepTitles = {
  put: "Upload with a link",
  get: "Download with a link",
  head: "Read what the store says about the object",
  "write-time": "Compare the time of the object with the clock",
  endpoint: "Download through this endpoint",
  "unsigned-link": "Refuse a download without a signature",
  "expired-link": "Refuse a link that has ended",
  "upload-by-link": "Refuse an upload by a link for a download",
  "added-parameter": "Drop a parameter that the link does not name",
  "unsigned-acl": "Refuse an access rule that the link does not name",
  "unsigned-copy": "Refuse a copy that the link does not name",
  "unsigned-times": "Ignore times that the link does not name",
  "unsigned-type": "Guess no type in place of the one that the link names",
  checksum: "Refuse bytes that do not match their digest",
  delete: "Remove the probe",
  absent: "Find the probe gone",
  preflight: "Permit pages of this origin",
  clock: "Compare the clocks",
};

/** Returns a card that tests a bucket at its store. */
export function testCard(page, bucket) {
  const place = h("div", { class: "stack" });
  const element = card("Test at the store", { text: "Writes, reads and removes a probe object with links." }, place);
  element.hidden = true;
  async function run() {
    element.hidden = false;
    fill(place, testing("The store is being asked. This takes up to 14 seconds."));
    element.scrollIntoView({ block: "nearest" });
    try {
      const { data } = await page.call("validateBucket", { path: { bucket: bucket.name }, body: {} });
      fill(place, validation(data), h("div", { class: "actions" }, button("Test again", { icon: "refresh", run })));
      return data;
    } catch (error) {
      if (!isAbort(error)) fill(place, problemBox(error, { retry: run }));
      return null;
    }
  }
  if (page.query.test && page.may("validateBucket")) run();
  return { element, run };
}

function validation(data) {
  return [
    verdict(data, { good: "Links to this bucket work", bad: "Links to this bucket do not work" }),
    stepList(data.steps, stepTitles),
    data.clockDifference
      ? h("p", { class: "faint" }, `The store's clock differs by ${duration(data.clockDifference)}.`)
      : null,
    data.probeLeft
      ? message(
          "warn",
          "The probe may still be there, or arrive yet",
          h(
            "p",
            {},
            "Look in a while for keys that begin with this one, and remove them at the store: ",
            code(data.probeKey),
          ),
        )
      : null,
  ];
}
