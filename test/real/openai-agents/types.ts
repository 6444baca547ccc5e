// Compiles against the SDK's own types: a session of ours is one of theirs, with these
// capabilities.
import type {
  AgentInputItem,
  Session,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents'
import type { Run } from '../../../src/index.js'
import { openAiSession } from '../../../src/openai-agents.js'

declare const run: Run

export const plain: Session = openAiSession(run)
export const typed: Session = openAiSession<AgentInputItem>(run)
export const rewriting: SessionHistoryRewriteAwareSession = openAiSession(run)
export const transacting: SessionHistoryTransactionAwareSession = openAiSession(run)
export const both: SessionHistoryRewriteAwareSession & SessionHistoryTransactionAwareSession =
  openAiSession<AgentInputItem>(run)
