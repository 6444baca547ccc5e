/**
 * daglog/langgraph: threads of LangGraph as runs.
 */
export type { ChannelSize } from './adapters/langgraph/channel-sizes.js'
export { DaglogSaver, type DaglogSaverOptions } from './adapters/langgraph/saver.js'
export type { FoundCheckpoint, Pruned, PruneOptions } from './adapters/langgraph/upkeep.js'
