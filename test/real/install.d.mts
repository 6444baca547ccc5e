export type Installed =
  | { readonly loader: string; readonly skip?: undefined }
  | { readonly skip: string; readonly loader?: undefined }

export function install(
  topic: string,
  options?: { readonly dir?: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Installed>

export function topics(): string[]
