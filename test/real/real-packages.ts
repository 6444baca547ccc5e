/**
 * Real packages of others, for tests against them; see install.mjs for where they come from.
 *
 *     const real = await realPackages('openai-agents')
 *     describe.skipIf(real.skip !== undefined)('the session', () => {
 *       it('...', async () => { const { run } = await real.load('@openai/agents') })
 *     })
 */
import { pathToFileURL } from 'node:url'
import { install } from './install.mjs'

export interface RealPackages {
  /** Why the packages are not here; it was printed. Undefined where they are. */
  readonly skip: string | undefined
  /** Import one of them, as a file in the topic's directory would. */
  // biome-ignore lint/suspicious/noExplicitAny: their types are there only where they are installed.
  load(specifier: string): Promise<any>
}

/** Install the packages of `test/real/<topic>` where they are not there yet. */
export async function realPackages(topic: string): Promise<RealPackages> {
  const { skip, loader } = await install(topic)
  if (loader === undefined) {
    console.warn(`skipped: ${skip}`)
    return { skip, load: () => Promise.reject(new Error(skip)) }
  }
  const { load } = (await import(/* @vite-ignore */ pathToFileURL(loader).href)) as RealPackages
  return { skip: undefined, load }
}
