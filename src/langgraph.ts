/**
 * daglog/langgraph: threads of LangGraph as runs.
 */
export { DaglogSaver, type DaglogSaverOptions } from './adapters/langgraph/saver.js'
