#!/usr/bin/env node
/**
 * The `daglog` command. Answers `--version` before anything else is loaded.
 */
import { version } from './version.js'

// A reader that goes away is no mistake of ours; who writes finds out by itself.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

const argv = process.argv.slice(2)
if (argv[0] === '--version' || argv[0] === '-V') {
  process.stdout.write(`${version()}\n`)
} else {
  const { main } = await import('./program.js')
  process.exitCode = await main(argv)
}
