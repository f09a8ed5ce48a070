import type { Guard, HarnessQuery, PermissionMode } from '@chirality/core'
import type { StopOptions } from '../../process/stop/stop.ts'
import type { Emit } from '../log/native-event.ts'
import type { Tool } from '../loop/tool.ts'
import { Gate } from '../permissions/gate.ts'
import type { Grants, Policy } from '../permissions/policy.ts'
import { isRuleFor, parseRule } from '../permissions/rule.ts'
import { askUserTool, exitPlanTool } from '../tools/ask-user.ts'
import type { BuiltInTool } from '../tools/built-in-tool.ts'
import { editTool, writeTool } from '../tools/files/edit.ts'
import { globTool, listTool } from '../tools/files/glob.ts'
import { grepTool } from '../tools/files/grep.ts'
import { readTool } from '../tools/files/read.ts'
import type { Workspace } from '../tools/files/workspace.ts'
import { bashTool, Shell, type ToolProgress } from '../tools/shell/shell.ts'

export interface ToolboxParts {
  query: Pick<HarnessQuery, 'tools'>
  workspace: Workspace
  policy: Policy
  clientTools: readonly BuiltInTool[]
  /** The environment of commands. */
  env: Record<string, string>
  stop?: StopOptions | undefined
}

export interface ToolboxHost {
  /** A variable in the environment of all processes that the turn's commands start. */
  marker: string
  onCommand(pid: number): Promise<void>
  emit: Emit
  grants: Grants
  canAsk: boolean
  guard?: Guard | undefined
  onInterrupt(): void
}

/** The tools of one turn, each checked by the gate. */
export class Toolbox {
  readonly tools: readonly Tool[]
  readonly gate: Gate
  readonly #shell: Shell
  readonly #policy: Policy
  readonly #emit: Emit

  constructor(parts: ToolboxParts, host: ToolboxHost) {
    const { workspace, policy, clientTools, env, stop, query } = parts
    this.#policy = policy
    this.#emit = host.emit
    const { marker, onCommand } = host
    this.#shell = new Shell({ cwd: workspace.cwd, env, stop, marker, onCommand })
    this.gate = new Gate({ ...host, policy, workspace })
    const onProgress: Parameters<typeof builtInTools>[0]['onProgress'] = progress =>
      host.emit({
        type: 'tool_progress',
        tool_use_id: progress.toolUseId,
        tool_name: progress.toolName,
        elapsed_time_seconds: progress.elapsedMs / 1000,
        output: progress.output,
      })
    const wanted = wantedTools(query.tools)
    const own = [
      ...builtInTools({ workspace, shell: this.#shell, onProgress }),
      ...this.#questions(host),
    ].filter(tool => wanted(tool.name))
    const offered = [...own, ...clientTools].filter(tool => !policy.hides(tool.name))
    this.tools = offered.map(tool => this.gate.guard(tool))
  }

  /** Changes the mode of the running turn. */
  setPermissionMode(mode: PermissionMode): void {
    this.#policy.mode = mode
    this.#emit({ type: 'system', subtype: 'status', permissionMode: mode })
  }

  /** Question tools, only if a user can be asked. */
  #questions({ canAsk }: ToolboxHost): BuiltInTool[] {
    if (!canAsk || this.#policy.mode === 'dontAsk') return []
    const isPlanning = this.#policy.mode === 'plan'
    return [askUserTool(), ...(isPlanning ? [exitPlanTool(() => this.setPermissionMode('default'))] : [])]
  }

  /** Stops the remaining processes of commands and returns their number. */
  close(): Promise<number> {
    return this.#shell.close()
  }
}

/** Unknown tool names are ignored. */
function wantedTools(tools: string | undefined): (name: string) => boolean {
  if (tools === undefined || tools.trim() === 'default') return () => true
  const rules = splitRules(tools).flatMap(text => parseRule(text) ?? [])
  return name => rules.some(rule => isRuleFor(rule, name))
}

/** Splits at commas and spaces, except inside brackets. */
function splitRules(text: string): string[] {
  return text.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? []
}

export interface BuiltInToolParts {
  workspace: Workspace
  shell: Shell
  onProgress?: ToolProgress
}

export function builtInTools({ workspace, shell, onProgress }: BuiltInToolParts): BuiltInTool[] {
  return [
    readTool(workspace),
    writeTool(workspace),
    editTool(workspace),
    bashTool(shell, onProgress),
    globTool(workspace),
    grepTool(workspace),
    listTool(workspace),
  ]
}
