/**
 * What a verb of the command line is, as data. Help, the docs page and the parser are made from it.
 */
import type { Call } from './call.js'
import type { ExitCode } from './exit-codes.js'

export interface Argument {
  /** As help shows it: `RUN`. */
  readonly name: string
  readonly summary: string
  readonly optional?: true
  /** The last argument may be given many times. */
  readonly many?: true
  /** Words of a command line, which stand behind `--`: options among them are the command's. */
  readonly command?: true
}

export interface Flag {
  /** Without dashes: `in` for `--in`. */
  readonly name: string
  /** One letter: `o` for `-o`. */
  readonly short?: string
  /** `list`: may be given many times. A `switch` takes no value. */
  readonly type: 'switch' | 'text' | 'number' | 'list'
  /** What the value is called in help: `FILE`. */
  readonly value?: string
  readonly choices?: readonly string[]
  readonly summary: string
}

export interface Example {
  readonly command: string
  readonly says: string
}

/** Does the verb's work; prints to `call.out`. */
export type VerbBody = (call: Call) => Promise<ExitCode>

export interface Verb {
  readonly name: string
  readonly summary: string
  readonly arguments: readonly Argument[]
  readonly flags: readonly Flag[]
  readonly examples: readonly Example[]
  /** The codes it can end with, besides 2 and 130, which each verb can. */
  readonly exits: readonly ExitCode[]
  /** Loads the body, and with it what the verb needs; nothing else is loaded. */
  readonly load: () => Promise<VerbBody>
}

/** Flags that each verb takes. */
export const COMMON_FLAGS: readonly Flag[] = [
  {
    name: 'store',
    type: 'text',
    value: 'DIR',
    summary: 'the store; else DAGLOG_DIR, else the nearest .daglog upward',
  },
  { name: 'json', type: 'switch', summary: 'print one JSON document' },
  { name: 'verbose', short: 'v', type: 'switch', summary: 'say more on stderr; stacks of errors' },
  { name: 'quiet', short: 'q', type: 'switch', summary: 'say nothing on stderr but errors' },
  { name: 'no-color', type: 'switch', summary: 'no colours, as with NO_COLOR=1' },
]

/** All codes that a verb can end with, in order. */
export function exitsOf(verb: Verb): readonly ExitCode[] {
  return [...verb.exits, 2 as const, 130 as const].sort((a, b) => a - b)
}

/** The usage line of a verb: `daglog step RUN FN [--in FILE] ...`. */
export function usageOf(verb: Verb): string {
  const words = ['daglog', verb.name]
  const wordOf = ({ name, optional, many, command }: Argument): string => {
    const word = `${command === true ? '-- ' : ''}${name}${many === true ? '...' : ''}`
    return optional === true ? `[${word}]` : word
  }
  const [commands, plain] = [true, false].map((wanted) =>
    verb.arguments.filter(({ command = false }) => command === wanted).map(wordOf),
  ) as [string[], string[]]
  words.push(...plain)
  for (const flag of verb.flags) {
    words.push(`[${termOf(flag)}]${flag.type === 'list' ? '...' : ''}`)
  }
  return [...words, ...commands].join(' ')
}

/** How a flag is written: `-o, --output FILE`. */
export function termOf({ name, short, type, value }: Flag): string {
  const dashes = short === undefined ? '' : `-${short}, `
  return `${dashes}--${name}${type === 'switch' ? '' : ` ${value ?? 'VALUE'}`}`
}
