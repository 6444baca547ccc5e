export declare function startModel(options?: {
  readonly onRequest?: (body: unknown, count: number) => void
  readonly delayMs?: number
}): Promise<{ readonly baseURL: string; close(): Promise<void> }>
