import type { BuiltInTool } from '../tools/built-in-tool.ts'

type Complaint = (input: unknown) => string | undefined

/** In words what is wrong with an input and where, by the tool's schema. */
export async function complaintAbout(
  tool: BuiltInTool,
  input: Record<string, unknown>,
): Promise<string | undefined> {
  if (tool.checksInput) return undefined
  // A tool of this name always has this schema: it is ours.
  let complaint = compiled.get(tool.name)
  if (complaint === undefined) {
    complaint = await compile(tool)
    compiled.set(tool.name, complaint)
  }
  return complaint(input)?.slice(0, MAX_COMPLAINT_CHARS)
}

const compiled = new Map<string, Complaint>()
const MAX_COMPLAINT_CHARS = 2000

/** Loaded with the first call: it takes a while. */
async function compile({ inputSchema }: BuiltInTool): Promise<Complaint> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/sdk/validation/ajv')
  const validate = new AjvJsonSchemaValidator().getValidator(inputSchema)
  return input => validate(input).errorMessage
}
