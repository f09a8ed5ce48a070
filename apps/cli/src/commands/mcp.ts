import { MARKER_VARIABLE, processEnv } from '@chirality/runner'
import { EXIT } from '../exit-code.ts'
import { noArgument, projectFolder, readOptions } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { anyServerFor } from '../running-server.ts'
import { relay } from './mcp/relay.ts'

/** Offers the sessions of a project to an agent or another program, through MCP on stdin and stdout. */
export async function mcp(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    project: { type: 'string' },
    http: { type: 'boolean' },
  })
  noArgument(positionals)
  const project = await projectFolder(values.project)
  const server = await anyServerFor(project)
  if (server === undefined) {
    await tell('chirality: No server of yours runs. `chirality serve` starts one.\n')
    return EXIT.failed
  }
  const marker = processEnv()[MARKER_VARIABLE]
  // The user who runs this in a folder registers it, as `chirality run` does. An agent does not choose projects.
  if (marker === undefined) await server.calls.projects.register.mutate({ path: project })
  const door = await server.calls.system.newProgramToken.mutate({ project, marker })
  if (values.http) {
    await output.write(`${JSON.stringify(door)}\n`)
    return EXIT.done
  }
  await relay(process.stdin, door, output)
  return EXIT.done
}
