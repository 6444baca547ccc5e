/**
 * daglog/openai-agents: sessions of the OpenAI Agents SDK over runs.
 */
export {
  type HistoryMutation,
  type HistoryTransaction,
  type OpenAiSession,
  openAiSession,
} from './adapters/openai-agents.js'
export { openAiHistory } from './fold/openai-agents-history.js'
