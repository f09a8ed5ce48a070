import { HarnessError, type HarnessMeta } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { resolveExecutable } from '../process/program/resolve-executable.ts'
import type { AcpAgentSpec } from './agent-spec.ts'

/** What the program of an agent is found by. */
export interface ProgramFacts {
  spec: AcpAgentSpec
  meta: HarnessMeta
  environment: Record<string, string>
}

/** The program and its environment. Throws a HarnessError if the program is not there. */
export async function programOf(
  { spec, meta, environment }: ProgramFacts,
  extra: Record<string, string> = {},
): Promise<{ command: string; env: Record<string, string> }> {
  const command = await findCommand(spec, environment)
  if (command === undefined)
    throw new HarnessError(
      `There is no program ${spec.command}. ${meta.install ?? ''}`.trim(),
      'not_installed',
      meta.id,
    )
  const own = meta.environment ?? { names: [] }
  return { command, env: buildChildEnv({ source: environment, own, extra }).env }
}

export function findCommand(
  { command }: AcpAgentSpec,
  { PATH = '', HOME: home }: Record<string, string>,
): Promise<string | undefined> {
  return resolveExecutable(command, [], { path: PATH, ...(home === undefined ? {} : { home }) })
}
