/**
 * Under which names secrets travel: in headers, in queries, in JSON and forms. Compared in lower
 * case. What is not named here is found by its form (`core/secret-forms.ts`) or not at all.
 */

/** Headers whose whole value is a secret, but for the scheme in front of it. */
export const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'apikey',
  'x-goog-api-key',
  'x-goog-iam-authorization-token',
  'x-amz-security-token',
  'x-auth-token',
  'x-access-token',
  'x-csrf-token',
  'x-xsrf-token',
  'x-gitlab-token',
  'private-token',
  'ocp-apim-subscription-key',
  'x-functions-key',
  'x-vault-token',
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
  'cf-access-client-secret',
  'x-figma-token',
  'x-shopify-access-token',
])

/** Headers that are lists of `NAME=VALUE`. */
export const COOKIE_HEADERS: ReadonlySet<string> = new Set(['cookie', 'set-cookie'])

/** Headers that may hold a URL with a query. */
export const URL_HEADERS: ReadonlySet<string> = new Set([
  'location',
  'content-location',
  'referer',
  'link',
  'refresh',
])

/** Fields of a URL's query. */
export const SECRET_QUERY: ReadonlySet<string> = new Set([
  'key',
  'api_key',
  'api-key',
  'apikey',
  'access_token',
  'refresh_token',
  'id_token',
  'token',
  'auth',
  'code',
  'code_verifier',
  'client_secret',
  'password',
  'sig',
  'signature',
  'x-amz-signature',
  'x-amz-credential',
  'x-amz-security-token',
  'x-goog-signature',
  'x-goog-credential',
  'subscription-key',
])

/**
 * Members of JSON, fields of forms and of queries within text. Not `token`: log probabilities have
 * it.
 */
export const SECRET_FIELDS: readonly string[] = [
  'access_token',
  'accessToken',
  'refresh_token',
  'refreshToken',
  'id_token',
  'idToken',
  'client_secret',
  'clientSecret',
  'client_assertion',
  'code_verifier',
  'device_code',
  'api_key',
  'apiKey',
  'apikey',
  'api-key',
  'x-api-key',
  'auth_token',
  'authToken',
  'session_token',
  'sessionToken',
  'secret_key',
  'secretKey',
  'secret_access_key',
  'SecretAccessKey',
  'aws_secret_access_key',
  'aws_session_token',
  'private_key',
  'privateKey',
  'password',
  'passwd',
  'authorization',
  'bearer_token',
  'X-Amz-Signature',
  'X-Amz-Credential',
  'X-Amz-Security-Token',
  'X-Goog-Signature',
  'X-Goog-Credential',
]
