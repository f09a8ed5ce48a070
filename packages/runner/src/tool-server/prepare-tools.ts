import { type ClientToolDefinition, HarnessError, type HarnessId } from '@chirality/core'
import { type Tool, ToolSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'

export interface PreparedTool {
  name: string
  handler: ClientToolDefinition['handler']
  /** The error in the input and its location. */
  complaint(args: unknown): string | undefined
}

export interface PreparedTools {
  byName: ReadonlyMap<string, PreparedTool>
  /** The answer to `tools/list`. */
  listed: Tool[]
  validator: AjvJsonSchemaValidator
}

/** Validates the definitions, so that an error is reported before an agent starts. */
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

/** The names that the APIs of both agents accept. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Without this mark Claude Code hides tools behind a search, and the model has to guess that they exist. */
const ALWAYS_LOAD = 'anthropic/alwaysLoad'

/** A copy, because the caller may change the schema later; it also proves that the schema is JSON. */
function copy(inputSchema: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(inputSchema))
  } catch (cause) {
    throw new TypeError(`inputSchema is not JSON: ${String(cause)}`)
  }
}

/** A client drops the whole list when one entry violates the protocol. */
function parseTool(candidate: unknown): Tool {
  const parsed = ToolSchema.safeParse(candidate)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new TypeError(`${issue?.path.join('.')}: ${issue?.message}`)
}

function compile(schema: Tool['inputSchema'], shared: AjvJsonSchemaValidator): PreparedTool['complaint'] {
  const text = JSON.stringify(schema)
  // With `$async` the validator returns promises and accepts every input.
  if (text.includes('"$async"')) throw new TypeError('inputSchema: $async is not supported.')
  // A shared validator would confuse two schemas with the same id.
  const validator = text.includes('"$id"') ? new AjvJsonSchemaValidator() : shared
  try {
    const validate = validator.getValidator(schema)
    return args => validate(args).errorMessage
  } catch (cause) {
    throw new TypeError(`inputSchema: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
