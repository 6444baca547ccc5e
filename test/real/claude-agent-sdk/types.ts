// Compiles against the SDK's own types: a store of ours is one of theirs, with or without
// summaries.
import { foldSessionSummary, type Options, type SessionStore } from '@anthropic-ai/claude-agent-sdk'
import { claudeSessionStore } from '../../../src/claude-agent-sdk.js'
import type { Store } from '../../../src/index.js'

declare const store: Store

export const plain: SessionStore = claudeSessionStore(store)
export const summing: SessionStore = claudeSessionStore(store, { foldSessionSummary, erase: true })
export const options: Options = { sessionStore: summing, sessionStoreFlush: 'eager' }
