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
  /** For commands. */
  env: Record<string, string>
  stop?: StopOptions | undefined
}

export interface ToolboxHost {
  /** In the environment of all that the turn's commands start. */
  marker: string
  /** Told of each command that runs. */
  onCommand(pid: number): Promise<void>
  emit: Emit
  grants: Grants
  canAsk: boolean
  guard?: Guard | undefined
  onInterrupt(): void
}

/** The tools of one turn, each behind the gate. */
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

  /** For the turn that is running. */
  setPermissionMode(mode: PermissionMode): void {
    this.#policy.mode = mode
    this.#emit({ type: 'system', subtype: 'status', permissionMode: mode })
  }

  /** Where there is somebody to ask. */
  #questions({ canAsk }: ToolboxHost): BuiltInTool[] {
    if (!canAsk || this.#policy.mode === 'dontAsk') return []
    const isPlanning = this.#policy.mode === 'plan'
    return [askUserTool(), ...(isPlanning ? [exitPlanTool(() => this.setPermissionMode('default'))] : [])]
  }

  /** Ends what commands left running. Returns how many processes that were. */
  close(): Promise<number> {
    return this.#shell.close()
  }
}

/** Names that this harness does not have are nothing it could offer. */
function wantedTools(tools: string | undefined): (name: string) => boolean {
  if (tools === undefined || tools.trim() === 'default') return () => true
  const rules = splitRules(tools).flatMap(text => parseRule(text) ?? [])
  return name => rules.some(rule => isRuleFor(rule, name))
}

/** At commas and blanks, but not inside brackets. */
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
