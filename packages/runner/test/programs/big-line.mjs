// Prints one record of the given size and exits at once: the moment in which a pipe loses data.
const bytes = Number(process.argv[2])
process.stdout.write(`${JSON.stringify({ text: 'x'.repeat(bytes) })}\n`)
process.exit(0)
