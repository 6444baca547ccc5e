/**
 * `store.json`: which format a store has, and who may read or write it.
 * Two versions, as in SQLite's file header: a newer write version still opens to read, a newer read
 * version does not.
 * @see docs/format.md#store-json
 */
import { randomBytes } from 'node:crypto'
import { DaglogError } from '../core/errors.js'

/** What this version of daglog reads and writes. */
export const FORMAT_VERSION = 1

/** Features that this version understands; a store may ask for more. */
const FEATURES_KNOWN: ReadonlySet<string> = new Set()

export interface Manifest {
  readonly format: { readonly read: number; readonly write: number }
  readonly id: string
  readonly hash: 'sha256'
  readonly features: {
    readonly mustUnderstand: readonly string[]
    readonly readOk: readonly string[]
  }
  /** Milliseconds since 1970. */
  readonly created: number
}

export function newManifest(created: number): Manifest {
  return {
    format: { read: FORMAT_VERSION, write: FORMAT_VERSION },
    id: randomBytes(16).toString('hex'),
    hash: 'sha256',
    features: { mustUnderstand: [], readOk: [] },
    created,
  }
}

export function encodeManifest(manifest: Manifest): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * @returns The manifest, and why the store may not be written, where it may not.
 * @throws FORMAT_TOO_NEW where it may not even be read, STORE_INVALID where it is no manifest.
 */
export function readManifest(
  bytes: Uint8Array,
  place: string,
): { manifest: Manifest; readOnly: string | undefined } {
  const manifest = parse(bytes, place)
  const { read, write } = manifest.format
  const unknown = manifest.features.mustUnderstand.filter((feature) => !FEATURES_KNOWN.has(feature))
  if (read > FORMAT_VERSION || unknown.length > 0) {
    const why = unknown.length > 0 ? `needs ${unknown.join(', ')}` : `has read version ${read}`
    throw new DaglogError(
      'FORMAT_TOO_NEW',
      `the store at ${place} ${why}, and this daglog reads up to version ${FORMAT_VERSION}; try: a newer daglog (npm install daglog@latest)`,
      { place, read, write, unknown },
    )
  }
  const unknownToWrite = manifest.features.readOk.filter((feature) => !FEATURES_KNOWN.has(feature))
  if (write <= FORMAT_VERSION && unknownToWrite.length === 0)
    return { manifest, readOnly: undefined }
  const why =
    unknownToWrite.length > 0 ? `uses ${unknownToWrite.join(', ')}` : `has write version ${write}`
  const readOnly = `the store at ${place} ${why}, and this daglog writes version ${FORMAT_VERSION}: it is open to read only; try: a newer daglog (npm install daglog@latest)`
  return { manifest, readOnly }
}

function parse(bytes: Uint8Array, place: string): Manifest {
  try {
    const manifest = JSON.parse(Buffer.from(bytes).toString()) as Partial<Manifest>
    const { format, features } = manifest
    if (Number.isSafeInteger(format?.read) && Number.isSafeInteger(format?.write)) {
      return {
        ...manifest,
        features: {
          mustUnderstand: features?.mustUnderstand ?? [],
          readOk: features?.readOk ?? [],
        },
      } as Manifest
    }
  } catch {
    // No JSON: the same answer as JSON of another shape.
  }
  throw new DaglogError(
    'STORE_INVALID',
    `store.json at ${place} is no manifest; try: restore it from a backup, or \`daglog init\` elsewhere and copy runs/ and packs/ there`,
    { place },
  )
}
