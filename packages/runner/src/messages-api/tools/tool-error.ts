/** A tool did not do what it was asked to, and says why. The words are for the model. */
export class ToolError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolError'
  }
}
