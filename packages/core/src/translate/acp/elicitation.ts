import type { PermissionRequestEvent } from '../../events/ui-event.ts'
import { asArray, asObject, asString, asText, type JsonObject } from '../../native/loose.ts'
import { present } from '../shared.ts'
import { toolFacts } from '../tool-facts.ts'

/** One field of a form that an agent wants filled in, as a question. */
interface FormField {
  key: string
  /** Unique in the form. */
  question: string
  header: string | undefined
  options: { label: string; value: unknown }[]
  multiSelect: boolean
  type: string
  isRequired: boolean
}

/** The answer to a question whose field may stay empty. */
const LEAVE_EMPTY = 'Leave empty'

/** A form of `elicitation/create` as questions for a person. Undefined for a request that is no form of plain fields. */
export function formRequest(
  params: JsonObject,
): Pick<PermissionRequestEvent, 'kind' | 'toolName' | 'input' | 'facts' | 'reason'> | undefined {
  const fields = formFields(params)
  if (!fields) return undefined
  const toolName = 'elicitation'
  const input = {
    questions: fields.map(({ question, header, options, multiSelect }) => {
      const labels = options.map(({ label }) => ({ label }))
      const onlyOptions = hasChoices(options) ? true : undefined
      return present({ question, header, options: labels, multiSelect, onlyOptions })
    }),
  }
  const facts = toolFacts(toolName, input)
  return present({ kind: 'question' as const, toolName, input, facts, reason: asText(params.message) })
}

/** The values of the form, from answers by the text of the question. A text where an answer does not fit its field. */
export function elicitationContent(params: JsonObject, answers: JsonObject): JsonObject | string {
  const content: [string, unknown][] = []
  for (const field of formFields(params) ?? []) {
    const given = Object.hasOwn(answers, field.question) ? answers[field.question] : undefined
    const texts = asArray(given).length > 0 ? asArray(given).map(String) : [asString(given) ?? '']
    const said = texts.join(', ').trim()
    if (said === '' || (!field.isRequired && said === LEAVE_EMPTY)) {
      if (field.isRequired) return `There is no answer to "${field.question}".`
      continue
    }
    const value = fieldValue(field, said)
    if (value === undefined) return `"${said}" is no answer to "${field.question}".`
    content.push([field.key, value])
  }
  return Object.fromEntries(content)
}

function fieldValue({ type, options, multiSelect }: FormField, said: string): unknown {
  if (multiSelect) return chosenValues(options, said)
  if (hasChoices(options)) return options.find(({ label }) => label === said)?.value
  if (type === 'number' || type === 'integer') {
    const value = Number(said)
    return Number.isFinite(value) && (type === 'number' || Number.isInteger(value)) ? value : undefined
  }
  return said
}

/** Several labels are one text with commas between them. A label may have commas itself, so the longest one that fits is taken. */
function chosenValues(options: FormField['options'], said: string): unknown[] | undefined {
  const longestFirst = [...options].sort((a, b) => b.label.length - a.label.length)
  const values: unknown[] = []
  for (let rest = said; rest !== ''; ) {
    const chosen = longestFirst.find(({ label }) => rest === label || rest.startsWith(`${label}, `))
    if (chosen?.value === undefined) return undefined
    values.push(chosen.value)
    rest = rest.slice(chosen.label.length + 2)
  }
  return values
}

/** There is more to choose than to leave the field empty. */
function hasChoices(options: FormField['options']): boolean {
  return options.some(({ value }) => value !== undefined)
}

function formFields(params: JsonObject): FormField[] | undefined {
  if (params.mode !== undefined && params.mode !== 'form') return undefined
  const schema = asObject(params.requestedSchema)
  const properties = Object.entries(asObject(schema?.properties) ?? {})
  const required = asArray(schema?.required)
  const seen = new Set<string>()
  const fields: FormField[] = []
  for (const [key, value] of properties) {
    const property = asObject(value) ?? {}
    const type = asText(property.type) ?? 'string'
    const choices = choicesOf(property, type)
    if (!FIELD_TYPES.has(type) || (type === 'array' && choices.length === 0)) return undefined
    const title = asText(property.title) ?? key
    const text = asText(property.description) ?? title
    const question = seen.has(text) ? `${text} (${key})` : text
    seen.add(question)
    const isRequired = required.includes(key)
    const multiSelect = type === 'array'
    const options = isRequired ? choices : [...choices, { label: LEAVE_EMPTY, value: undefined }]
    const header = text === title ? undefined : title
    fields.push({ key, question, header, options, multiSelect, type, isRequired })
  }
  return fields.length > 0 ? fields : undefined
}

const FIELD_TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'array'])

function choicesOf(property: JsonObject, type: string): FormField['options'] {
  if (type === 'boolean')
    return [
      { label: 'Yes', value: true },
      { label: 'No', value: false },
    ]
  const source = type === 'array' ? (asObject(property.items) ?? {}) : property
  const titled = [...asArray(source.oneOf), ...asArray(source.anyOf)].flatMap(choice => {
    const { const: value, title } = asObject(choice) ?? {}
    return asText(value) === undefined ? [] : [{ label: asText(title) ?? String(value), value }]
  })
  const names = asArray(source.enumNames)
  const plain = asArray(source.enum).map((value, index) => ({
    label: asText(names[index]) ?? String(value),
    value,
  }))
  return [...titled, ...plain]
}
