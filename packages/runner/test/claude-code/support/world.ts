import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HarnessQuery, Session } from '@chirality/core'
import { claudeEnv, type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { afterEach, beforeEach, expect } from 'vitest'
import type { ClaudeCodeHarnessConfig } from '../../../src/claude-code/config.ts'
import { ClaudeCodeHarness } from '../../../src/claude-code/harness.ts'
import { findByMarker, MARKER_VARIABLE } from '../../../src/process/leftovers.ts'
import { sendSignal } from '../../../src/process/process-table.ts'
import type { RunnerLogEntry } from '../../../src/turn/log-entry.ts'
import { openFiles } from '../../support/open-files.ts'

/** A project, a HOME and a temporary folder of a test's own. Afterwards nothing may be left of the test. */
export interface World {
  readonly root: string
  readonly project: string
  readonly home: string
  /** The agent's TMPDIR. */
  readonly temporary: string
  /** Everything the harnesses of this test logged. */
  readonly logs: RunnerLogEntry[]
  model(script: Script): Promise<ScriptedModel>
  /** A harness in a clean environment that reaches only the scripted model. */
  harness(binary: string, options?: HarnessOptions): ClaudeCodeHarness
  session(fields?: Partial<Session>): Session
  query(fields?: Partial<HarnessQuery>): HarnessQuery
  /** Makes one of `test/programs` an executable that stands in for `claude`. */
  fake(name: string, ...args: string[]): string
  /** The raw logs of the project, oldest first. */
  spools(): string[]
}

export interface HarnessOptions
  extends Omit<ClaudeCodeHarnessConfig, 'binaryPath' | 'environment' | 'onLog'> {
  model?: ScriptedModel
  onLog?: (entry: RunnerLogEntry) => unknown
  /** Set over the clean environment; `undefined` takes a variable away. */
  environment?: Record<string, string | undefined>
}

export function useWorld(): World {
  let root = ''
  let marker = ''
  let models: ScriptedModel[] = []
  const logs: RunnerLogEntry[] = []
  const inRoot = (...parts: string[]) => path.join(root, ...parts)

  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-claude-')))
    marker = randomUUID()
    models = []
    logs.length = 0
    mkdirSync(inRoot('home', 'tmp'), { recursive: true })
    mkdirSync(inRoot('project'))
  })

  afterEach(async () => {
    const left = await findByMarker(marker)
    try {
      for (const model of models) await model.close()
      expect(left, 'processes left behind').toEqual([])
      const files = readdirSync(inRoot('home', 'tmp')).filter(name => name.startsWith('chirality-'))
      expect(files, 'temporary files left behind').toEqual([])
      expect(await openFiles(root), 'files left open').toEqual([])
    } finally {
      for (const { pid } of left) sendSignal(pid, 'SIGKILL')
      rmSync(root, { recursive: true, force: true })
    }
  })

  const cleanEnvironment = (model: ScriptedModel | undefined) => ({
    ...claudeEnv(model ?? { url: NOWHERE }, inRoot('home')),
    // Chained into what the harness sets itself, so that this test finds its own processes and no one else's.
    [MARKER_VARIABLE]: marker,
  })

  return {
    get root() {
      return root
    },
    get project() {
      return inRoot('project')
    },
    get home() {
      return inRoot('home')
    },
    get temporary() {
      return inRoot('home', 'tmp')
    },
    logs,
    async model(script) {
      const model = await startScriptedModel(script)
      models.push(model)
      return model
    },
    harness(binaryPath, { model, environment, onLog, ...config } = {}) {
      const merged = { ...cleanEnvironment(model), ...environment }
      return new ClaudeCodeHarness({
        stop: PATIENT,
        lingerMs: PATIENT_MS,
        ...config,
        binaryPath,
        environment: definedOnly(merged),
        onLog: entry => {
          logs.push(entry)
          onLog?.(entry)
        },
      })
    },
    session: fields => ({
      id: randomUUID(),
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      projectRoot: inRoot('project'),
      persona: null,
      mode: 'direct',
      claudeSessionId: null,
      ...fields,
    }),
    query: fields => ({
      prompt: 'Say hello',
      cwd: inRoot('project'),
      mode: 'read-only',
      signal: new AbortController().signal,
      ...fields,
    }),
    fake(name, ...args) {
      const program = fileURLToPath(new URL(`../../programs/${name}.mjs`, import.meta.url))
      const file = inRoot(`claude-${randomUUID()}`)
      const words = [process.execPath, program, ...args].map(quoted).join(' ')
      writeFileSync(file, `#!/bin/sh\nFAKE_CLAUDE="$0" exec ${words} "$@"\n`)
      chmodSync(file, 0o755)
      return file
    },
    spools() {
      const folder = inRoot('project', '.chirality', 'logs', 'claude-code')
      if (!existsSync(folder)) return []
      const names = readdirSync(folder).filter(name => name.endsWith('.ndjson'))
      return names.sort().map(name => path.join(folder, name))
    },
  }
}

/** No test may depend on how fast an agent obeys; one that never does fails by its time limit. */
const PATIENT_MS = 600_000
const PATIENT = { interruptGraceMs: PATIENT_MS, termGraceMs: PATIENT_MS, killGraceMs: PATIENT_MS }

/** Nothing listens on the discard port; a request there is refused at once. */
const NOWHERE = 'http://127.0.0.1:9'

function definedOnly(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
