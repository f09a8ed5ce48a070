import type { ClientToolDefinition } from '@chirality/core'
import { HARNESS_ID } from '../config.ts'
import type { BuiltInTool } from '../tools/built-in-tool.ts'

/** The host's own functions, by the names that they have for every agent. Nothing goes over a wire. */
export async function clientTools(definitions: readonly ClientToolDefinition[]): Promise<BuiltInTool[]> {
  if (definitions.length === 0) return []
  const [{ prepareTools }, { callTool }, { TOOL_SERVER_NAME }] = await Promise.all([
    import('../../tool-server/prepare-tools.ts'),
    import('../../tool-server/call-tool.ts'),
    import('../../tool-server/index.ts'),
  ])
  const { byName } = prepareTools(definitions, HARNESS_ID)
  return definitions.flatMap(({ name, description, inputSchema, readOnly }) => {
    const prepared = byName.get(name)
    if (prepared === undefined) return []
    return {
      name: `mcp__${TOOL_SERVER_NAME}__${name}`,
      description,
      inputSchema,
      effect: readOnly ? 'read' : 'client',
      subject: () => undefined,
      checksInput: true,
      execute: async (input, { signal }) => {
        const { content, isError } = await callTool(prepared, input, { ...LIMITS, signal })
        const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
        return { content: texts.join('\n'), isError: isError === true }
      },
    }
  })
}

const LIMITS = { deadlineMs: 10 * 60_000, maxResultBytes: 256 * 1024 }
