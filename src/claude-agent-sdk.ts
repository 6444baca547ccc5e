/**
 * daglog/claude-agent-sdk: transcripts of the Claude Agent SDK in a store.
 */
export {
  type ClaudeSessionStore,
  type ClaudeSessionStoreOptions,
  claudeSessionStore,
  type FoldSessionSummary,
  type SessionEntry,
  type SessionKey,
  type SessionSummary,
} from './adapters/claude-agent-sdk.js'
