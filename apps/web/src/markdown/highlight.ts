import type { HighlightAnswer, HighlightRequest, Run } from './highlight-messages.ts'

/** Above this nobody reads colours, and the worker would be busy for seconds. */
const MAX_CODE_CHARS = 100_000
const MAX_CACHED = 200

let worker: Worker | null = null
let nextId = 1
const waiting = new Map<number, (runs: readonly Run[] | null) => void>()
const cache = new Map<string, Promise<readonly Run[] | null>>()

/** Code in colours, made in a worker. Null when there are none: an unknown language, too much of it, no worker. */
export function highlight(code: string, language: string): Promise<readonly Run[] | null> {
  if (language === '' || code.length > MAX_CODE_CHARS || typeof Worker === 'undefined')
    return Promise.resolve(null)
  const key = `${language}\n${code}`
  const known = cache.get(key)
  if (known) return known
  const result = ask(code, language)
  cache.set(key, result)
  const oldest = cache.keys().next().value
  if (cache.size > MAX_CACHED && oldest !== undefined) cache.delete(oldest)
  return result
}

function ask(code: string, language: string): Promise<readonly Run[] | null> {
  return new Promise(resolve => {
    const id = nextId++
    waiting.set(id, resolve)
    const request: HighlightRequest = { id, code, language }
    startWorker().postMessage(request)
  })
}

function startWorker(): Worker {
  if (worker) return worker
  worker = new Worker(new URL('./highlight.worker.ts', import.meta.url), { type: 'module' })
  worker.addEventListener('message', ({ data }: MessageEvent<HighlightAnswer>) => {
    waiting.get(data.id)?.(data.runs)
    waiting.delete(data.id)
  })
  worker.addEventListener('error', () => {
    for (const resolve of waiting.values()) resolve(null)
    waiting.clear()
  })
  return worker
}
