import { defineConfig } from 'vitest/config'

const report = process.env.DAGLOG_TEST_REPORT

export default defineConfig({
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
