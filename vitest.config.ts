import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

const report = process.env.DAGLOG_TEST_REPORT

/**
 * `@langchain/*` is installed for its topic alone. What `src/` imports of it is taken from there too:
 * with a second copy nothing would be an `instanceof` of anything.
 */
const topicFile = fileURLToPath(new URL('test/real/langgraph/package.json', import.meta.url))
const oneCopyOfLangchain: Plugin = {
  name: 'one-copy-of-langchain',
  enforce: 'pre',
  resolveId(source, importer, options) {
    if (!source.startsWith('@langchain/') || importer === topicFile) return undefined
    return this.resolve(source, topicFile, { ...options, skipSelf: true })
  },
}

export default defineConfig({
  plugins: [oneCopyOfLangchain],
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores: more workers only make the crash loops fight over the disk.
    maxWorkers: 2,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
  },
})
