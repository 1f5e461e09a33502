// Icons of 16 × 16, drawn with strokes. Each is decoration: what it means is said by the text beside it.

const shapes = {
  home: "M2.5 7.5 8 2.8l5.5 4.7M4 6.5V13h3V9.5h2V13h3V6.5",
  access: "M8 1.8 13 3.6v4c0 3.2-2 5.4-5 6.6-3-1.2-5-3.4-5-6.6v-4L8 1.8M5.8 7.8l1.6 1.6 3-3.2",
  grant: "M5.2 10.8a2.9 2.9 0 1 1 2.4-4.5H14v2.4h-1.6v1.8h-2V8.7H7.9a2.9 2.9 0 0 1-2.7 2.1M5 7.9h.1",
  group:
    "M5.6 7.4a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4" +
    "M1.6 13c.2-2.4 1.8-3.8 4-3.8s3.8 1.4 4 3.8M10.6 3.2a2.1 2.1 0 0 1 0 4M11.6 9.4c1.7.4 2.7 1.7 2.8 3.6",
  try: "M5 3.2v9.6l7.6-4.8z",
  quota: "M2.2 11.4a6 6 0 1 1 11.6 0M8 10.4l2.8-3.6M8 10.4h.1",
  ledger: "M4 2.2h8v11.6l-2-1.2-2 1.2-2-1.2-2 1.2zM6.2 5.4h3.6M6.2 8h3.6",
  denial: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M3.9 3.9l8.2 8.2",
  audit: "M8 2a6 6 0 1 1-5.6 3.8M2.2 2.6v3.4h3.4M8 4.8V8l2.2 1.6",
  bucket:
    "M2.6 4.4c0-1 2.4-1.8 5.4-1.8s5.4.8 5.4 1.8-2.4 1.8-5.4 1.8-5.4-.8-5.4-1.8" +
    "M2.6 4.4l1 7.6c.2.8 2 1.6 4.4 1.6s4.2-.8 4.4-1.6l1-7.6",
  credential: "M3.6 7.2h8.8v6H3.6zM5.4 7.2V5a2.6 2.6 0 0 1 5.2 0v2.2M8 9.6v1.4",
  emergency: "M8 2.2 14.4 13.4H1.6zM8 6.4v3.2M8 11.6h.1",
  offboard:
    "M6.2 7.2a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6" + "M1.8 13.2c.2-2.6 2-4 4.4-4 1.2 0 2.3.3 3.1 1M10.4 12.2h4",
  issuer: "M2.4 13.4h11.2M3.6 13V6.8M6.6 13V6.8M9.4 13V6.8M12.4 13V6.8M2 6.4 8 2.6l6 3.8z",
  key: "M10.2 9.4a3.6 3.6 0 1 0-3.5-2.8L2.4 11v2.6H5v-1.6h1.6v-1.6h1.6l.5-.5M11 5.2h.1",
  ticket: "M2 5.2h12v2a1.2 1.2 0 0 0 0 2.4v2H2v-2a1.2 1.2 0 0 0 0-2.4zM9.6 5.4v6",
  upload: "M8 10.4V3M5 5.8 8 2.8l3 3M2.8 10.4v2.8h10.4v-2.8",
  download: "M8 2.8v7.4M5 7.4l3 3 3-3M2.8 10.4v2.8h10.4v-2.8",
  search: "M7 11.6a4.6 4.6 0 1 0 0-9.2 4.6 4.6 0 0 0 0 9.2M10.4 10.4l3.4 3.4",
  menu: "M2.4 4.4h11.2M2.4 8h11.2M2.4 11.6h11.2",
  more: "M3.4 8h.1M8 8h.1M12.5 8h.1",
  close: "M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4",
  check: "M3 8.6l3.2 3.2L13 4.6",
  plus: "M8 3v10M3 8h10",
  edit: "M10.6 3l2.4 2.4-7.4 7.4-3 .6.6-3zM9 4.6 11.4 7",
  trash: "M2.8 4.6h10.4M6.2 4.4V2.8h3.6v1.6M4.2 4.8l.6 8.6h6.4l.6-8.6M6.6 7.2v4M9.4 7.2v4",
  copy: "M5.6 5.6h7.6v7.6H5.6zM3.6 10.4h-.8V2.8h7.6v.8",
  terminal: "M2 3h12v10H2zM4.4 6l2 2-2 2M8 10.2h3.4",
  theme: "M8 2.4a5.6 5.6 0 1 0 0 11.2zM8 2.4a5.6 5.6 0 0 1 0 11.2M8 4.6h3.4M8 7h5M8 9.4h5M8 11.8h3",
  person: "M8 7.6a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2M3 13.6c.3-2.8 2.3-4.2 5-4.2s4.7 1.4 5 4.2",
  help:
    "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12" + "M6.2 6.4c.1-1 .8-1.7 1.9-1.7s1.8.7 1.8 1.6c0 1.4-1.9 1.4-1.9 2.9M8 11.4h.1",
  out: "M6.4 2.8H3v10.4h3.4M10 5l3 3-3 3M6.4 8h6.4",
  down: "M4 6.2 8 10.2l4-4",
  right: "M6.2 4l4 4-4 4",
  up: "M4 9.8l4-4 4 4",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6L13 5.8M13 2.6v3.2H9.8",
  columns: "M2.4 3h11.2v10H2.4zM6.2 3v10M9.9 3v10",
  filter: "M2.4 3.4h11.2L9.4 8.4v4.2l-2.8-1.2V8.4z",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 7.4v3.8M8 5h.1",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.8V8l2.2 1.6",
};

const space = "http://www.w3.org/2000/svg";

/** Returns an icon by its name. */
export function icon(name) {
  const shape = shapes[name];
  if (!shape) throw new RangeError(`There is no icon ${name}.`);
  const image = document.createElementNS(space, "svg");
  image.setAttribute("viewBox", "0 0 16 16");
  image.setAttribute("class", "icon");
  image.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", shape);
  image.append(path);
  return image;
}
