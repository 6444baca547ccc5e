/**
 * What a run is called that was made for a command: the name of the program, not of what interprets it. Arguments
 * are not kept: they may hold secrets.
 */
import { basename } from 'node:path'

const INTERPRETERS = /^(node|nodejs|deno|bun|npx|tsx|python[\d.]*|uv|ruby|sh|bash|zsh|env)(\.exe)?$/

export function nameOfCommand(words: readonly string[]): string {
  const [program = 'run', ...args] = words
  const script = INTERPRETERS.test(basename(program))
    ? args.find((word) => /^[\w./\\@-]+\.\w+$/.test(word) && !word.startsWith('-'))
    : undefined
  return basename(script ?? program).replace(/\.\w{1,4}$/, '')
}
