/**
 * A Chromium of this machine; none is downloaded.
 */
import { existsSync } from 'node:fs'

const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Its path; undefined where there is none, which is printed. `DAGLOG_CHROMIUM` names another. */
export function chromium(): string | undefined {
  const named = process.env.DAGLOG_CHROMIUM
  const found = named ?? PLACES.find((path) => existsSync(path))
  if (found === undefined)
    console.warn('skipped: no Chromium is here; apt-get install chromium, or set DAGLOG_CHROMIUM')
  return found
}
