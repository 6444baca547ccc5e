/**
 * The command line, from words to an exit code: parses them by the table of verbs, loads the one
 * verb that is asked for, runs it, and tells what went wrong.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { DaglogError } from '../core/errors.js'
import { Call, type FlagValues } from './call.js'
import { EXIT_CODES, type ExitCode } from './exit-codes.js'
import { failureOf } from './failure.js'
import { Output, PipeClosed } from './output.js'
import { COMMON_FLAGS, exitsOf, type Flag, termOf, usageOf, type Verb } from './verb.js'
import { VERBS } from './verbs.js'
import { version } from './version.js'

/** What the words mean, before anything is done. */
interface Asked {
  readonly verb: Verb
  readonly args: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly flags: FlagValues
}

/** Run the command line. Resolves with the exit code; does not end the process. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  let asked: Asked | undefined
  try {
    asked = parse(argv)
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    // Commander has printed its help for a command line without a verb.
    if (error instanceof CommanderError && error.code === 'commander.help') return 2
    const verbose = argv.includes('-v') || argv.includes('--verbose')
    const out = outputOf({ json: argv.includes('--json'), verbose })
    return finish(out, async () => {
      throw error instanceof CommanderError ? usageError(error, argv) : error
    })
  }
  const { verb, args, flags } = asked
  const out = outputOf(flags)
  const call = new Call(verb.name, args, flags, out)
  endOnInterrupt(call)
  return finish(out, async () => {
    const run = await verb.load()
    const code = await run(call).catch(async (error: unknown) => {
      // What went wrong first is what counts; closing may well fail for the same reason.
      await call.close().catch(() => {})
      throw error
    })
    await call.close()
    return code
  })
}

function outputOf(flags: FlagValues): Output {
  return new Output({
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    json: flags.json === true,
    quiet: flags.quiet === true,
    verbose: flags.verbose === true,
    color: flags.color !== false,
  })
}

/** Do the work, get the output out, and turn errors into words. */
async function finish(out: Output, work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    const code = await work()
    await out.flush()
    return code
  } catch (error) {
    if (error instanceof PipeClosed) return 141
    const { code, kind, what, cause, advice, data, exit } = failureOf(error)
    if (out.json && !out.begun) {
      const told = { code, kind, message: what, cause, try: advice, data }
      out.document('daglog.error/1', { ok: false, error: told })
      await out.flush().catch(() => {})
    }
    out.alarm(['red', code], ': ', what)
    out.alarm('cause: ', cause)
    out.alarm('try: ', advice)
    const stack = error instanceof Error ? (error.stack ?? '') : ''
    for (const line of stack.split('\n')) out.detail(['dim', line])
    return exit
  }
}

/** An interrupt lets go of locks first; a second one does not wait. */
function endOnInterrupt(call: Call): void {
  process.once('SIGINT', () => {
    if (call.ownInterrupts) return
    const end = (): never => process.exit(130)
    process.once('SIGINT', end)
    call.close().then(end, end)
  })
}

/** @throws CommanderError; with exit code 0 where help was asked for and printed. */
function parse(argv: readonly string[]): Asked {
  let asked: Asked | undefined
  const program = new Command('daglog')
    .description('The flight recorder and session store for AI agents.')
    .usage('VERB [ARGUMENTS] [OPTIONS]')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain')
    .helpCommand('help [VERB]', 'explain a verb')
    .addHelpText(
      'after',
      "\n`daglog VERB --help` has each verb's options, examples and exit codes.",
    )
    // A verb's option may take a value that looks like one of the common options.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ writeErr: () => {} })
    .exitOverride()
  for (const flag of COMMON_FLAGS) program.addOption(optionOf(flag))
  for (const verb of VERBS) {
    const command = program.command(verb.name).summary(verb.summary)
    describe(command, verb)
    command.action((...given: unknown[]) => {
      const flags = { ...program.opts(), ...command.opts() }
      flags.color = program.opts().color !== false && command.opts().color !== false
      asked = { verb, args: argumentsOf(verb, given), flags }
    })
  }
  if (argv.length === 0) {
    process.stderr.write(program.helpInformation())
    throw new CommanderError(2, 'commander.help', 'no verb')
  }
  program.parse(argv, { from: 'user' })
  if (asked === undefined) throw new CommanderError(2, 'commander.missingVerb', 'no verb was given')
  return asked
}

function describe(command: Command, verb: Verb): void {
  command.description(`${verb.summary}.`)
  for (const { name, summary, optional, many } of verb.arguments) {
    const word = `${name}${many === true ? '...' : ''}`
    command.argument(optional === true ? `[${word}]` : `<${word}>`, summary)
  }
  for (const flag of verb.flags) command.addOption(optionOf(flag))
  for (const flag of COMMON_FLAGS)
    command.addOption(optionOf(flag).helpGroup('Options of every verb:'))
  command.usage(usageOf(verb).replace(`daglog ${verb.name} `, ''))
  const examples = verb.examples.map(({ command, says }) => `  $ ${command}\n      ${says}`)
  const exits = exitsOf(verb).map((code) => `  ${String(code).padEnd(4)}${EXIT_CODES[code]}`)
  command.addHelpText(
    'after',
    `\nExamples:\n${examples.join('\n')}\n\nExit codes:\n${exits.join('\n')}`,
  )
}

function optionOf(flag: Flag): Option {
  const option = new Option(termOf(flag).replace(/ ([A-Z:]+)$/, ' <$1>'), flag.summary)
  if (flag.choices !== undefined) option.choices([...flag.choices])
  if (flag.type === 'number') option.argParser(count)
  if (flag.type === 'list')
    option.argParser((value: string, before: string[] = []) => [...before, value])
  return option
}

function count(text: string): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
  throw new InvalidArgumentError('It is no whole number.')
}

function argumentsOf(verb: Verb, given: readonly unknown[]): Asked['args'] {
  return Object.fromEntries(
    verb.arguments.map(({ name }, at) => [name, given[at] as string | string[] | undefined]),
  )
}

/** Commander's words as an error of ours. */
function usageError(error: CommanderError, argv: readonly string[]): DaglogError {
  const [first = '', hint = ''] = error.message
    .replace(/^error: /, '')
    .replace(/\. (?=[A-Z])/, ': ')
    .split('\n')
  const word = argv.find((candidate) => VERBS.some(({ name }) => name === candidate))
  const verb = VERBS.find(({ name }) => name === word)
  const meant = /Did you mean (?:one of )?([^,?]+)/.exec(hint)?.[1]
  const advice =
    meant === undefined
      ? `daglog ${verb === undefined ? '' : `${verb.name} `}--help`
      : meant.startsWith('-')
        ? `daglog ${verb?.name ?? 'VERB'} ${meant}`
        : `daglog ${meant}`
  return new DaglogError('USAGE', `${first}; try: ${advice}`, { verb: verb?.name })
}
