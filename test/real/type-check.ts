/**
 * The compiler over a topic's own tsconfig.json, which sees the packages installed there.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** What the compiler says about the topic's files; nothing where they fit. */
export async function typeCheck(topic: string): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const args = [tsc, '-p', `test/real/${topic}/tsconfig.json`]
  try {
    await promisify(execFile)(process.execPath, args, { cwd: root })
    return ''
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout ?? error)
  }
}
