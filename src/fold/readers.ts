/**
 * The readers that daglog has, loaded when a run is folded and not before.
 */
import type { AnyReader } from './reader.js'

let loading: Promise<readonly AnyReader[]> | undefined

export function builtInReaders(): Promise<readonly AnyReader[]> {
  loading ??= load()
  return loading
}

async function load(): Promise<readonly AnyReader[]> {
  const [{ openAiAgents }] = await Promise.all([import('./readers/openai-agents.js')])
  return [openAiAgents]
}
