import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import {
  type Envelope,
  type ImportedSession,
  initialSessionState,
  reduceSession,
  type SessionItem,
  type SessionState,
  type UIEventType,
} from '@chirality/core'

export interface PlainRun {
  cwd: string
  env: Record<string, string>
  input: string
}

/** The bare CLI, as its user runs it, without us. Gives what it printed. */
export function plainRun(binary: string, args: string[], { cwd, env, input }: PlainRun): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      binary,
      args,
      { cwd, env, maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`${error.message}\n${stderr}`))
        else resolve(stdout)
      },
    )
    child.stdin?.end(input)
  })
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

export function folded({ session, envelopes }: ImportedSession): SessionState {
  return reduceSession(initialSessionState(session.id), envelopes)
}

/** What a person sees of it, in short. */
export function told(state: SessionState): string[] {
  return state.items.map(inShort)
}

function inShort(item: SessionItem): string {
  switch (item.kind) {
    case 'user':
      return `> ${item.text}`
    case 'text':
    case 'thinking':
      return `${item.kind}: ${item.text}`
    case 'tool':
      return `${item.name} ${item.status}: ${item.content?.trim()}`
    case 'notice':
      return `${item.status}: ${item.message}`
    case 'budget':
      return `budget: ${item.message}`
    case 'error':
      return `${item.code}: ${item.message}`
    case 'gap':
      return `gap of ${item.missing}: ${item.reason}`
  }
}

export function types(envelopes: readonly Envelope[]): UIEventType[] {
  return envelopes.map(({ event }) => event.type)
}

/** Every file below a folder with its content and time: equal before and after, nothing was written. */
export function contents(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const file = path.join(folder, name)
    const info = statSync(file)
    found[name] = info.isFile() ? `${info.mtimeMs} ${readFileSync(file, 'latin1')}` : 'folder'
  }
  return found
}
