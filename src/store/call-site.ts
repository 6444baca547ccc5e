/**
 * Where in a program daglog was called. Taking it is cheap; saying it costs some microseconds.
 */
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Our own files: `src/` or `dist/`, as stacks name them. */
const OWN = dirname(dirname(import.meta.url))
/** The first frame of a stack that is not ours is near its top. */
const FRAMES_MAX = 8

/** A place that can be said: `agent.ts:12:5`, undefined where nobody knows. */
export type CallSite = () => string | undefined

/** Where the caller of our rooms is. */
export function callSite(): CallSite {
  const held: { stack?: string } = {}
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = FRAMES_MAX
  Error.captureStackTrace(held, callSite)
  Error.stackTraceLimit = before
  return () => placeIn(held)
}

function placeIn(held: { readonly stack?: string }): string | undefined {
  const { prepareStackTrace } = Error
  // The text of a stack is made when it is first looked at; only one line of it is wanted.
  Error.prepareStackTrace = (_, sites) => {
    const site = sites.find((one) => isTheirs(one.getFileName()))
    return site && `${site.getFileName()}:${site.getLineNumber()}:${site.getColumnNumber()}`
  }
  try {
    const { stack } = held
    return stack === undefined ? undefined : shortened(stack)
  } finally {
    Error.prepareStackTrace = prepareStackTrace as NonNullable<typeof prepareStackTrace>
  }
}

function isTheirs(file: string | null | undefined): boolean {
  return typeof file === 'string' && !file.startsWith('node:') && !isOurs(file)
}

const OWN_PATH = fileURLToPath(OWN)

function isOurs(file: string): boolean {
  return file.startsWith(`${OWN}/`) || file.startsWith(`${OWN_PATH}/`)
}

/** Files as people name them, by how stacks do. */
const names = new Map<string, string>()

/** Relative to the working directory where it lies below it. */
function shortened(place: string): string {
  const [, file = '', at = ''] = /^(.*?)((?::\d+){2})$/.exec(place) ?? []
  let name = names.get(file)
  if (name === undefined) {
    const path = file.startsWith('file://') ? fileURLToPath(file.replace(/\?.*$/, '')) : file
    const short = relative(process.cwd(), path)
    name = short.startsWith('..') ? path : short
    names.set(file, name)
  }
  return `${name}${at}`
}
