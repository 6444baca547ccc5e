/**
 * Providers of models whose clients take a base URL, and the variables that these clients read it
 * from.
 */

/**
 * Where a route's short name leads: `/TOKEN/openai/v1/...`. Any other origin has a route by its own
 * name.
 */
const ORIGINS: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com',
  anthropic: 'https://api.anthropic.com',
  gemini: 'https://generativelanguage.googleapis.com',
  mistral: 'https://api.mistral.ai',
  groq: 'https://api.groq.com',
  deepseek: 'https://api.deepseek.com',
  openrouter: 'https://openrouter.ai',
  xai: 'https://api.x.ai',
  ollama: 'http://127.0.0.1:11434',
}

export function originOfProvider(name: string): string | undefined {
  return Object.hasOwn(ORIGINS, name) ? ORIGINS[name] : undefined
}

export const PROVIDER_NAMES: readonly string[] = Object.keys(ORIGINS)

export interface BaseVariable {
  readonly name: string
  /** What the client takes where the variable is not set. */
  readonly base: string
}

/**
 * Only variables whose clients send nothing else to another place once they are set. Bedrock's is
 * not here: its signature covers the host.
 */
export const BASE_VARIABLES: readonly BaseVariable[] = [
  { name: 'OPENAI_BASE_URL', base: 'https://api.openai.com/v1' },
  { name: 'OPENAI_API_BASE', base: 'https://api.openai.com/v1' },
  { name: 'ANTHROPIC_BASE_URL', base: 'https://api.anthropic.com' },
  { name: 'GOOGLE_GEMINI_BASE_URL', base: 'https://generativelanguage.googleapis.com' },
]
