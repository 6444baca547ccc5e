/**
 * The environment in which a program finds the sidecar by itself: proxies, certificates, base URLs,
 * and a preload for Node, which in version 20 looks at none of them. Knows the variables of
 * clients; sets nothing, starts nothing.
 */
import { BASE_VARIABLES } from './providers.js'
import type { Admitted } from './sidecar.js'
import { absoluteAim, isNamed } from './target.js'

type Environment = Readonly<Record<string, string | undefined>>

export interface ChildSurroundings {
  readonly admitted: Admitted
  /** A file with our certificate alone, for clients that add it to theirs. */
  readonly certificateFile: string
  /** A file with all that is trusted, for clients whose own it replaces. */
  readonly bundleFile: string
  /** The module that Node children load first. */
  readonly preload: URL
  /** Hosts that are intercepted; all where none is named. */
  readonly hosts: readonly string[]
}

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'] as const
/** Each names a bundle that takes the place of the client's own. */
const BUNDLE_VARIABLES = [
  'SSL_CERT_FILE', // OpenSSL: Python, Ruby, Go, Rust's native-tls
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'DENO_CERT',
] as const

/** What to set over `env`. Names without a value are to be left out of the child's environment. */
export function childEnvironment(
  env: Environment,
  { admitted, certificateFile, bundleFile, preload, hosts }: ChildSurroundings,
): Record<string, string | undefined> {
  const set: Record<string, string | undefined> = {}
  for (const name of PROXY_VARIABLES) set[name] = admitted.proxyUrl
  // Local servers of models count as much as any other.
  set.NO_PROXY = ''
  // Lower case as well: some clients read only that, and who reads both may prefer it.
  for (const [name, value] of Object.entries(set)) set[name.toLowerCase()] = value
  for (const name of BUNDLE_VARIABLES) set[name] = bundleFile
  // A directory would be searched as well, and by some clients instead.
  set.SSL_CERT_DIR = undefined
  set.NODE_EXTRA_CA_CERTS = certificateFile
  // Node from 22.21 and 24 on; older ones need the preload.
  set.NODE_USE_ENV_PROXY = '1'
  set.NODE_OPTIONS = [env.NODE_OPTIONS, `--import=${preload.href}`].filter(Boolean).join(' ')
  for (const { name, base } of BASE_VARIABLES) {
    const own = env[name]
    const meant = own === undefined || own === '' ? base : own
    const host = absoluteAim(meant)?.target.host
    if (host === undefined || (hosts.length > 0 && !isNamed(host, hosts))) continue
    set[name] = admitted.baseUrl(meant)
  }
  set.DAGLOG_PROXY = admitted.proxyUrl
  return set
}
