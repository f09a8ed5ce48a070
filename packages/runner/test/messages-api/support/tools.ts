import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { ToolOutput } from '../../../src/messages-api/loop/tool.ts'
import { complaintAbout } from '../../../src/messages-api/permissions/gate.ts'
import { Workspace } from '../../../src/messages-api/tools/files/workspace.ts'
import { Shell } from '../../../src/messages-api/tools/shell/shell.ts'
import { builtInTools } from '../../../src/messages-api/turn/toolbox.ts'
import { TEST_ENV } from '../../support/programs.ts'

export interface ToolWorld {
  readonly project: string
  /** Beside the project, and none of the tools' business. */
  readonly outside: string
  call(name: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<ToolOutput>
}

/** The tools without the gate before them. */
export function useTools(): ToolWorld {
  let root = ''
  let shell: Shell | null = null
  const inRoot = (name: string) => path.join(root, name)
  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-tools-')))
    mkdirSync(inRoot('project'))
    mkdirSync(inRoot('outside'))
  })
  afterEach(async () => {
    await shell?.close()
    shell = null
    rmSync(root, { recursive: true, force: true })
  })
  return {
    get project() {
      return inRoot('project')
    },
    get outside() {
      return inRoot('outside')
    },
    async call(name, input, signal = new AbortController().signal) {
      const workspace = await Workspace.open(inRoot('project'))
      shell ??= new Shell({ cwd: inRoot('project'), env: TEST_ENV, marker: randomUUID() })
      const tool = builtInTools({ workspace, shell }).find(candidate => candidate.name === name)
      if (tool === undefined) throw new Error(`there is no tool ${name}`)
      const complaint = await complaintAbout(tool, input)
      if (complaint !== undefined) return { content: complaint, isError: true }
      try {
        const output = await tool.execute(input, { signal, toolUseId: 't1' })
        return typeof output === 'string' ? { content: output } : output
      } catch (error) {
        return { content: error instanceof Error ? error.message : String(error), isError: true }
      }
    },
  }
}
