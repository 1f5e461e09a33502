// Types of sluice.js. Times are RFC 3339 in UTC, lengths are bytes, and lives are seconds, unless it says otherwise.

/** What can be uploaded: a file or blob, bytes, or in Node the path of a file. */
export type Source = Blob | ArrayBuffer | Uint8Array | string;

/** Where an upload goes. Give `key`, or `keyPrefix` to let the gateway name the object. */
export interface Target {
  bucket: string;
  key?: string;
  /** The gateway names the object `<keyPrefix><UUIDv7>[.<keyExtension>]`. Empty, or ends with `/`. */
  keyPrefix?: string;
  keyExtension?: string;
  /** The type of the object. By default that of the file, else `application/octet-stream`. */
  contentType?: string;
  /** The object's own metadata, 2 KiB in all. */
  metadata?: Record<string, string>;
}

/** How far a transfer is. A part that has to be sent again takes its bytes back. */
export interface Progress {
  loaded: number;
  /** Length of the whole. Unknown (`undefined`) for a download that the browser decodes. */
  total: number | undefined;
}

/** What a call may be given. */
export interface CallOptions {
  /** Ends the call with the reason of the signal if that is an error, else with an `AbortError`. */
  signal?: AbortSignal;
}

export interface UploadOptions extends Target, CallOptions {
  onProgress?: (progress: Progress) => void;
  /** `"*"`: the upload is refused if an object with the key exists. It is then sent by one request, up to 5 GiB. */
  ifNoneMatch?: "*";
  /** Life of the link of a file that is sent by one request. */
  expiresIn?: number;
  /** `false` leaves the MD5 out, unless the grant requires it. Links bind it otherwise, and the file is read twice. */
  md5?: boolean;
  /** `false` does not ask the gateway what has arrived. */
  confirm?: boolean;
  /** `false` begins anew, even if the same file has been uploaded in part. */
  resume?: boolean;
  /** Length of parts. A longer file is sent in parts. Stores accept no parts below 5 MiB. */
  partSize?: number;
  /** Number of parts that are sent at once. */
  parallel?: number;
}

/** What became of an upload. */
export interface UploadResult {
  /** Identifies the link or the upload in the ledger. */
  id: string;
  bucket: string;
  key: string;
  size: number;
  /** The entity tag, without quotes, if the store tells it. */
  etag?: string;
  /**
   * `landed`: the gateway found the object, and it is what was bound; or the store had reported or completed it, and it
   * has been deleted or replaced since. `unverified`: the object fits, but the store does not tell the SHA-256 that was
   * bound. Absent if the gateway was not asked or could not tell, or if the signal fired once the store had the object.
   */
  state?: "landed" | "unverified";
  /** The number of parts. Absent if one request sent the file. */
  parts?: number;
}

export interface DownloadOptions extends CallOptions {
  /**
   * Where the bytes go: the path of a file in Node, or a `WritableStream`. By default, the result has them as a `blob`.
   * A file gets its name once it is complete; until then its beginning is in a file beside it with `.sluice-part` at
   * the end, from which a later download of the same object goes on. While a download writes a file, another one to it
   * is refused (`Conflict`).
   */
  to?: string | WritableStream<Uint8Array>;
  onProgress?: (progress: Progress) => void;
}

export interface DownloadResult {
  bucket: string;
  key: string;
  size: number;
  etag?: string;
  contentType?: string;
  blob?: Blob;
  path?: string;
}

/** An object to download. */
export interface ObjectRequest {
  bucket: string;
  key: string;
  versionID?: string;
  /** Headers of the store's answer. `filename` makes browsers save the object under this name. */
  response?: {
    contentDisposition?: string;
    filename?: string;
    contentType?: string;
    contentLanguage?: string;
    cacheControl?: string;
    expires?: string;
    contentEncoding?: string;
  };
  expiresIn?: number;
}

/** One of the bucket's addresses. */
export type Endpoint = "default" | "internal" | "accelerate" | "cdn";

/** A request for a link to an object, as `POST /v1/presigned-urls` takes it. */
export interface LinkRequest extends Partial<Omit<ObjectRequest, "bucket">>, Target {
  action: "PutObject" | "GetObject" | "DeleteObject";
  method?: "PUT" | "GET" | "HEAD" | "DELETE";
  endpoint?: Endpoint;
  contentMD5?: string;
  checksumSHA256?: string;
  contentLength?: number;
  process?: string;
  ifNoneMatch?: "*";
}

/** A request for a link that lists keys, as `POST /v1/presigned-urls` takes it. */
export interface ListingRequest {
  action: "ListObjects";
  bucket: string;
  prefix: string;
  list?: {
    delimiter?: string;
    maxKeys?: number;
    continuationToken?: string;
    startAfter?: string;
    encodingType?: "url";
  };
  expiresIn?: number;
  endpoint?: Endpoint;
}

/** A link that lists keys. */
export interface ListingLink extends Omit<Link, "key"> {
  prefix: string;
}

/** A link. Whoever has the URL can use it. */
export interface Link {
  id: string;
  method: "PUT" | "GET" | "HEAD" | "DELETE";
  bucket: string;
  key: string;
  url: string;
  /** Headers to send, byte for byte. */
  headers: Record<string, string>;
  expiresAt: string;
  expiresIn: number;
  /** Who refuses an upload of another size. */
  enforcedBy: "signature" | "policy" | "none";
}

/** A request for a form, as `POST /v1/post-policies` takes it. */
export interface FormRequest {
  bucket: string;
  key?: string;
  keyPrefix?: string;
  keyExtension?: string;
  keyStartsWith?: string;
  contentTypes: string[];
  minBytes?: number;
  maxBytes: number;
  expiresIn?: number;
  metadata?: Record<string, string>;
  successActionStatus?: 200 | 201 | 204;
  endpoint?: Endpoint;
}

/** A form, which uploads one file. */
export interface Form {
  id: string;
  method: "POST";
  bucket: string;
  key: string;
  url: string;
  /** Fields to send before the file, in this order. */
  fields: Record<string, string>;
  /** One of these goes into the field `contentTypeField`. Both are absent if `fields` has the type. */
  contentTypes?: string[];
  contentTypeField?: string;
  expiresAt: string;
  expiresIn: number;
  enforcedBy: "policy";
}

/** What the gateway knows of an upload. */
export interface Upload {
  id: string;
  bucket: string;
  key: string;
  state: "issued" | "landed" | "mismatched" | "unverified" | "expired";
  mismatches?: ("size" | "md5" | "sha256" | "type")[];
  size?: number;
  etag?: string;
  contentType?: string;
  source?: "confirmation" | "settlement" | "event" | "completion";
  foundAt?: string;
  issuedAt: string;
  expiresAt: string;
}

/** An upload in parts. */
export interface PartsUpload {
  id: string;
  bucket: string;
  key: string;
  contentType: string;
  contentLength?: number;
  state: string;
  etag?: string;
  createdAt: string;
  expiresAt: string;
}

/** A part that the store has. */
export interface StoredPart {
  partNumber: number;
  etag: string;
  size: number;
  lastModifiedAt: string;
}

/** The code of a problem of the gateway (`openapi/problems.md`), of a store's error, or of the client itself. */
export type ErrorCode =
  | "AccessDenied" | "AlreadyExists" | "Conflict" | "EntityTooLarge" | "ExpiredToken" | "IdempotencyKeyInUse"
  | "IdempotencyKeyReused" | "IdempotentAnswerGone" | "InternalError" | "InvalidArgument" | "MalformedRequest"
  | "NoSuchIssuance" | "NoSuchUpload" | "NotEnforceable" | "QuotaExceeded" | "RequestTooLarge" | "ServiceUnavailable"
  | "SlowDown" | "StoreRefused" | "TooManyRequests" | "Unauthenticated"
  | "NetworkError" | "FileChanged" | "ObjectChanged" | "Mismatch" | "NotSupported"
  | (string & {});

/** Why a call failed. */
export class SluiceError extends Error {
  /** Who failed: the gateway or the store refused, no answer came, or the client itself gave up. */
  source: "gateway" | "store" | "network" | "client";
  code: ErrorCode;
  /** The status of the answer; 0 without one. */
  status: number;
  /** What is wrong with this request. */
  detail?: string;
  title?: string;
  type?: string;
  /** Identifies the request in the gateway's log. */
  requestID?: string;
  /** Member of the request that is wrong. */
  field?: string;
  /** Condition of the grant that does not hold. */
  condition?: string;
  /** Quota that is exhausted, and what is left of it. */
  quota?: { limit: number; metric: string; period: string; resetsIn?: number };
  remaining?: number;
  /** Seconds to wait. */
  retryAfter?: number;
  /** Whether the same call may succeed later. */
  readonly mayPass: boolean;
  constructor(message: string, members: { source: SluiceError["source"]; code: ErrorCode; [name: string]: unknown });
}

/**
 * Where the state of interrupted transfers is kept: small values that JSON can hold, without links or tokens. A store
 * that fails costs the ability to go on, and not the transfer.
 */
export interface StateStore {
  get(name: string): Promise<any>;
  set(name: string, state: any): Promise<unknown>;
  delete(name: string): Promise<unknown>;
}

/** Keeps states until the program ends. The default in Node. */
export const memoryStore: (states?: Map<string, unknown>) => StateStore;

/** Keeps states in IndexedDB. The default in browsers. */
export function indexedDBStore(database?: string): StateStore;

/** Keeps states in files of a directory, in Node. */
export function fileStore(directory: string): StateStore;

/**
 * `controller.abort(PAUSE)` stops an upload and keeps the parts that have arrived. Any other reason discards them. The
 * call rejects with an `AbortError`, and `signal.reason` is `PAUSE`.
 */
export const PAUSE: "sluice:pause";

export interface ClientOptions {
  /** The gateway's origin, followed by a path if a proxy serves the gateway below one. */
  url: string | URL;
  /**
   * An API key or a JWT, or a function that answers one. It is called for each request, and again with `refresh` after
   * the gateway has refused what it answered. What it throws ends the call, and so does what no token can be: an empty
   * text, or one with spaces, line breaks or letters beyond ASCII (`InvalidArgument`).
   */
  token: string | ((wish: { refresh: boolean }) => string | Promise<string>);
  store?: StateStore;
  /** How often a request is repeated, 6 by default. */
  retries?: number;
  /** Milliseconds without any progress after which a request has failed, 60,000 by default. */
  timeout?: number;
  /** Number of parts that are sent at once, 4 by default. */
  parallel?: number;
  /** Length of parts, 16 MiB by default. A longer file is sent in parts. */
  partSize?: number;
}

/**
 * A client of one gateway. Calls reject with a `SluiceError`, with the reason of their signal if that is an `Error` and
 * else with an `AbortError`, or with an error that is passed on as it is: of the file system, of a stream, or of the
 * functions `token` and `onProgress`.
 */
export class Sluice {
  /** Throws a `SluiceError` if the URL is missing or is not one of http or https. */
  constructor(options: ClientOptions);
  readonly url: string;
  retries: number;
  timeout: number;
  parallel: number;
  partSize: number;

  /**
   * Uploads a file. An upload in parts that was interrupted goes on if the same file is uploaded to the same key. Of
   * several such calls at the same time, only the first can go on later: the others discard their parts if they fail
   * or are stopped, also by `PAUSE`.
   */
  upload(file: Source, options: UploadOptions): Promise<UploadResult>;
  /**
   * Downloads an object. What was cut off goes on where it stopped, unless the object has changed, is decoded, or its
   * store tells no ETag. Then it begins anew; a stream cannot, so the call fails.
   */
  download(object: ObjectRequest, options?: DownloadOptions): Promise<DownloadResult>;
  /** Asks for the URL of a download. */
  downloadURL(object: ObjectRequest, options?: CallOptions): Promise<string>;
  /** Asks for a link. */
  link(request: LinkRequest, options?: CallOptions): Promise<Link>;
  link(request: ListingRequest, options?: CallOptions): Promise<ListingLink>;
  /** Asks for many links. Each is a link, or the error that a single request would have got. The order is kept. */
  batch(items: LinkRequest[], options?: CallOptions): Promise<(Link | SluiceError)[]>;
  /** Asks for a form. */
  form(request: FormRequest, options?: CallOptions): Promise<Form>;
  /** Sends a file by a form. `contentType` chooses one of the form's `contentTypes`, by default that of the file. */
  sendForm(
    form: Form, file: Source,
    options?: CallOptions & { contentType?: string; onProgress?: (progress: Progress) => void },
  ): Promise<UploadResult>;
  /** Asks what has arrived by a link, a form with a fixed key, or an upload in parts. */
  confirm(id: string, options?: CallOptions): Promise<Upload>;

  /** Starts an upload in parts. `upload` does this and what follows. */
  startParts(request: Target & { contentLength?: number }, options?: CallOptions): Promise<PartsUpload>;
  /** Asks for the link of a part. */
  partLink(
    id: string,
    part: { partNumber: number; contentMD5?: string; checksumSHA256?: string; contentLength?: number },
    options?: CallOptions,
  ): Promise<Link & { partNumber: number }>;
  /** Lists the parts that the store has. */
  storedParts(id: string, options?: CallOptions): Promise<StoredPart[]>;
  /** Makes the object of its parts. */
  completeParts(
    id: string, parts: { partNumber: number; etag: string }[], options?: CallOptions,
  ): Promise<PartsUpload>;
  /** Aborts an upload in parts, and discards them at the store. */
  abortParts(id: string, options?: CallOptions): Promise<void>;
}

declare class Digest {
  /** Takes the next bytes. */
  update(bytes: Uint8Array): this;
  /** The digest of all bytes. Nothing may be added afterwards. */
  digest(): Uint8Array;
}

/** MD5 (RFC 1321) of a stream. */
export class MD5 extends Digest {}

/** SHA-256 (FIPS 180-4) of a stream. */
export class SHA256 extends Digest {}

interface UppyParameters {
  method: "PUT";
  url: string;
  headers: Record<string, string>;
  expires: number;
}

/**
 * Options for Uppy's `@uppy/aws-s3` 5: `uppy.use(AwsS3, uppyOptions(client, (file) => ({ bucket, key: file.name })))`.
 * `target` says where a file goes.
 */
export function uppyOptions(client: Sluice, target: (file: any) => Target, options?: { partSize?: number }): {
  shouldUseMultipart(file: any): boolean;
  getChunkSize(file: { size: number }): number;
  getUploadParameters(file: any, options?: CallOptions): Promise<UppyParameters & { fields: Record<string, never> }>;
  createMultipartUpload(file: any): Promise<{ uploadId: string; key: string }>;
  signPart(
    file: any,
    options: { uploadId: string; key: string; partNumber: number; body: Blob; signal?: AbortSignal },
  ): Promise<UppyParameters>;
  listParts(
    file: any, options: { uploadId?: string; key: string; signal?: AbortSignal },
  ): Promise<{ PartNumber: number; ETag: string; Size: number }[]>;
  completeMultipartUpload(
    file: any, options: { uploadId: string; key: string; parts: { PartNumber?: number; ETag?: string }[] },
  ): Promise<{ location: string; bucket: string; key: string }>;
  abortMultipartUpload(file: any, options: { uploadId?: string; key: string }): Promise<void>;
};

/**
 * The function `signRequest` for Uppy's `@uppy/aws-s3` 6.3. `target` gets Uppy's request and says where the object
 * goes; for the start of an upload in parts, only it knows the type. Uppy tells the signer neither length nor bytes, so
 * grants that require them refuse it.
 */
export function uppySigner(
  client: Sluice,
  target: (request: { method: string; key: string; contentType?: string }) => Target &
    Pick<LinkRequest, "contentLength" | "contentMD5" | "checksumSHA256">,
): (request: {
  method: string; key: string; contentType?: string; uploadId?: string; partNumber?: number;
}) => Promise<{ url: string; key?: string; headers?: Record<string, string> }>;

/**
 * The function `server.process` of FilePond. The server's id of a file is the key of its object. `server.revert` has to
 * be `null`, or FilePond's "undo" sends `DELETE` to the page itself. Undoing leaves the object.
 */
export function filePond(client: Sluice, target: (file: File, metadata: Record<string, any>) => Target): (
  fieldName: string, file: any, metadata: Record<string, any>, load: (key: string) => void,
  error: (message: string) => void, progress: (isComputable: boolean, loaded: number, total: number) => void,
  abort: () => void, ...others: any[]
) => { abort(): void };

/** Makes a Dropzone upload its files by the client. Returns the Dropzone. */
export function dropzone<Zone>(client: Sluice, zone: Zone, target: (file: File) => Target): Zone;
