/** The command was called wrongly. Its message is shown with a pointer to the help, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}
