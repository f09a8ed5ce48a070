import type { Tool } from './loop/tool.ts'

type Complaint = (input: unknown) => string | undefined

/** Checks inputs against the schemas of the tools. What it takes to do so is loaded with the first call: it takes a while. */
export class InputCheck {
  readonly #byTool = new WeakMap<Tool, Complaint>()

  /** In words what is wrong, and where. */
  readonly complaint = async (tool: Tool, input: Record<string, unknown>): Promise<string | undefined> => {
    let complaint = this.#byTool.get(tool)
    if (complaint === undefined) {
      complaint = await compile(tool)
      this.#byTool.set(tool, complaint)
    }
    return complaint(input)?.slice(0, MAX_COMPLAINT_CHARS)
  }
}

const MAX_COMPLAINT_CHARS = 2000

async function compile({ inputSchema }: Tool): Promise<Complaint> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/sdk/validation/ajv')
  const validate = new AjvJsonSchemaValidator().getValidator(inputSchema)
  return input => validate(input).errorMessage
}
