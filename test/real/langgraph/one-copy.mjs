// node --import ./test/real/langgraph/one-copy.mjs FILE: `@langchain/*` comes from this topic whoever imports
// it. dist/ would else look for a copy of its own, and nothing would be an `instanceof` of anything.
import { register } from 'node:module'

const hooks = `
  let parentURL
  export async function initialize(url) { parentURL = url }
  export async function resolve(specifier, context, next) {
    return next(specifier, specifier.startsWith('@langchain/') ? { ...context, parentURL } : context)
  }`
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: import.meta.url })
