import { type ClientToolDefinition, HarnessError, type HarnessId } from '@chirality/core'
import { type Tool, ToolSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'

export interface PreparedTool {
  name: string
  handler: ClientToolDefinition['handler']
  /** What is wrong with the input, and where. */
  complaint(args: unknown): string | undefined
}

export interface PreparedTools {
  byName: ReadonlyMap<string, PreparedTool>
  /** As `tools/list` shows them. */
  listed: Tool[]
  validator: AjvJsonSchemaValidator
}

/** Checks the definitions, so that a mistake in one is told before an agent is started. */
export function prepareTools(tools: readonly ClientToolDefinition[], harnessId: HarnessId): PreparedTools {
  const prepared: PreparedTools & { byName: Map<string, PreparedTool> } = {
    byName: new Map(),
    listed: [],
    validator: new AjvJsonSchemaValidator(),
  }
  for (const tool of tools) {
    try {
      add(tool, prepared)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new HarnessError(
        `Client tool ${JSON.stringify(tool?.name)}: ${why}`,
        'invalid_query',
        harnessId,
        cause,
      )
    }
  }
  return prepared
}

function add(
  { name, description, inputSchema, readOnly, handler }: ClientToolDefinition,
  into: PreparedTools & { byName: Map<string, PreparedTool> },
): void {
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
    throw new TypeError('the name must have 1 to 64 characters out of A-Z, a-z, 0-9, _ and -.')
  }
  if (into.byName.has(name)) throw new TypeError('there are two tools of this name.')
  if (typeof handler !== 'function') throw new TypeError('the handler is not a function.')
  const listed = parseTool({ name, description, inputSchema: copy(inputSchema) })
  const annotations = readOnly ? { readOnlyHint: true } : undefined
  into.listed.push({ ...listed, annotations, _meta: { [ALWAYS_LOAD]: true } })
  into.byName.set(name, { name, handler, complaint: compile(listed.inputSchema, into.validator) })
}

/** What the APIs behind both agents take. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Claude Code otherwise hides tools behind a search of its own, and the model has to guess that they exist. */
const ALWAYS_LOAD = 'anthropic/alwaysLoad'

/** Against later changes by the caller, and a proof that it is JSON. */
function copy(inputSchema: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(inputSchema))
  } catch (cause) {
    throw new TypeError(`inputSchema is not JSON: ${String(cause)}`)
  }
}

/** A client drops the whole list when one entry is not as the protocol says. */
function parseTool(candidate: unknown): Tool {
  const parsed = ToolSchema.safeParse(candidate)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new TypeError(`${issue?.path.join('.')}: ${issue?.message}`)
}

function compile(schema: Tool['inputSchema'], shared: AjvJsonSchemaValidator): PreparedTool['complaint'] {
  const text = JSON.stringify(schema)
  // The validator would take its schemas as promises and every input as valid.
  if (text.includes('"$async"')) throw new TypeError('inputSchema: $async is not supported.')
  // Two schemas of one id would be taken for the same.
  const validator = text.includes('"$id"') ? new AjvJsonSchemaValidator() : shared
  try {
    const validate = validator.getValidator(schema)
    return args => validate(args).errorMessage
  } catch (cause) {
    throw new TypeError(`inputSchema: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
