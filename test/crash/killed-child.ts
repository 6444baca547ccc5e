/** A child that is killed with SIGKILL while it works, and what it had said by then. */
import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

/**
 * Kill it so many ms after it said what `after` looks for; the whole lines that it said.
 * Rejects where it ended by itself.
 */
export function linesUntilKilled(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
  { lifeMs, after }: { readonly lifeMs: number; readonly after: RegExp },
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let said = ''
    let wrong = ''
    child.stdout.on('data', (chunk) => {
      const before = after.test(said)
      said += chunk
      if (!before && after.test(said)) setTimeout(() => child.kill('SIGKILL'), lifeMs)
    })
    child.stderr.on('data', (chunk) => {
      wrong += chunk
    })
    child.on('error', reject)
    child.on('close', (_code, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`the child ended by itself: ${wrong}`))
      resolve(said.split('\n').slice(0, -1))
    })
  })
}
