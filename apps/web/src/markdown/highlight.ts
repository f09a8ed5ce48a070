import { own } from '../ui/own.ts'
import type { HighlightAnswer, HighlightRequest, Run } from './highlight-runs.ts'

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

/** Runs line by line: a comment of three lines is three runs. */
export function linesOfRuns(runs: readonly Run[]): Run[][] {
  const lines: Run[][] = [[]]
  for (const [text, tone] of runs) {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push([])
      if (piece !== '') lines.at(-1)?.push([piece, tone])
    }
  }
  return lines
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

const NAMES: Readonly<Record<string, string>> = {
  cjs: 'javascript',
  htm: 'xml',
  html: 'xml',
  h: 'c',
  hpp: 'cpp',
  md: 'markdown',
  mjs: 'javascript',
  mts: 'typescript',
  sh: 'bash',
  svg: 'xml',
  toml: 'ini',
  yml: 'yaml',
  zsh: 'bash',
}

const WHOLE_NAMES: Readonly<Record<string, string>> = { Dockerfile: 'dockerfile', Makefile: 'makefile' }

/** The language of a file by its name, as far as a name tells. */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const extension = name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : ''
  return own(WHOLE_NAMES, name) ?? own(NAMES, extension) ?? extension
}
