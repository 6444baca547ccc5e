/**
 * Trees in an object store: nodes are read by name when they are needed, and written once.
 * Knows neither where objects live nor how long; `load` and `put` do.
 */
import { DaglogError, isDaglogError } from '../core/errors.js'
