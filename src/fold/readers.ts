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
  const [
    { openAiAgents },
    { claudeAgentSdk },
    { exchanges },
    { importReader },
    { claudeCode },
    { codex },
    { dsh },
    { lines },
  ] = await Promise.all([
    import('./readers/openai-agents.js'),
    import('./readers/claude-agent-sdk.js'),
    import('./readers/exchange.js'),
    import('./import-reader.js'),
    import('./readers/claude-code.js'),
    import('./readers/codex.js'),
    import('./readers/dsh.js'),
    import('./readers/lines.js'),
  ])
  return [
    openAiAgents,
    claudeAgentSdk,
    exchanges,
    ...[claudeCode, codex, dsh, lines].map(importReader),
  ]
}
