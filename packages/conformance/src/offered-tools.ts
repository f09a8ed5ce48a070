export interface CommandTool {
  name: string
  /** Makes a call of the tool that runs this line in a shell. Fields of `extra` are added if the tool has them. */
  call(shell: string, extra?: Record<string, unknown>): { tool: string; input: Record<string, unknown> }
}

/** The agent's tool for running commands, as offered to the model in any of the APIs. Undefined if it offered none. */
export function commandTool(body: unknown): CommandTool | undefined {
  for (const { name, properties, required } of offeredTools(body)) {
    const field = COMMAND_FIELDS.find(candidate => Object.hasOwn(properties, candidate))
    if (field === undefined || !COMMAND_TOOL.test(name)) continue
    const isList = asObject(properties[field]).type === 'array'
    return {
      name,
      call: (shell, extra = {}) => {
        const fitting = Object.entries(extra).filter(([key]) => Object.hasOwn(properties, key))
        const others = required.filter(key => key !== field)
        const filled = others.map(key => [key, valueFor(asObject(properties[key]))])
        const command = isList ? ['sh', '-c', shell] : shell
        return {
          tool: name,
          input: { ...Object.fromEntries(filled), ...Object.fromEntries(fitting), [field]: command },
        }
      },
    }
  }
  return undefined
}

/** The names of all tools, for a report in which none fits. */
export function toolNames(body: unknown): string[] {
  return offeredTools(body).map(({ name }) => name)
}

const COMMAND_TOOL =
  /^(bash|shell|sh|terminal|(local_)?shell_command|(run|exec|execute)_?(shell_?|terminal_?)?(command|cmd)?)$|bash$|__shell$/i
const COMMAND_FIELDS = ['command', 'cmd', 'script']

interface OfferedTool {
  name: string
  properties: Json
  required: string[]
}

function offeredTools(body: unknown): OfferedTool[] {
  return asArray(asObject(body).tools).flatMap(tool => {
    const { functionDeclarations, function: inner, ...plain } = asObject(tool)
    const tools = functionDeclarations === undefined ? [inner ?? plain] : asArray(functionDeclarations)
    return tools.map(asObject).flatMap(entry => {
      const { name, input_schema, parameters, parametersJsonSchema } = entry
      const schema = asObject(input_schema ?? parametersJsonSchema ?? parameters)
      if (typeof name !== 'string') return []
      const required = asArray(schema.required).filter(key => typeof key === 'string')
      return [{ name, properties: asObject(schema.properties), required }]
    })
  })
}

/** A value of the right type for a field that does not matter. */
function valueFor({ type, enum: choices, default: preset }: Json): unknown {
  if (preset !== undefined) return preset
  if (Array.isArray(choices)) return choices[0]
  // Gemini writes types in capitals.
  const first = asArray(type)[0] ?? type
  switch (String(first).toLowerCase()) {
    case 'boolean':
      return false
    case 'number':
    case 'integer':
      return 60_000
    case 'array':
      return []
    case 'object':
      return {}
    default:
      return 'A trial.'
  }
}

type Json = Record<string, unknown>

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
