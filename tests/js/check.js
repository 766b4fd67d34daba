// Prints what TypeScript finds in the modules of a page, and each name in them that is of type any:
// node check.js FOLDER/jsconfig.json

import ts from 'typescript';

const [, , config] = process.argv;
const { config: json } = ts.readConfigFile(config, ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(json, ts.sys, config.replace(/[^/]*$/, ''), { allowJs: true });
Object.assign(options, { noEmit: true, skipLibCheck: false, skipDefaultLibCheck: true });
const program = ts.createProgram(fileNames, options), checker = program.getTypeChecker();
for (const { file, start, messageText } of ts.getPreEmitDiagnostics(program)) {
  const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1;
  console.log(`${file?.fileName}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}
for (const name of fileNames.filter((each) => each.endsWith('.js'))) {
  const file = program.getSourceFile(name);
  const look = (node) => {
    if (ts.isIdentifier(node) && checker.getTypeAtLocation(node).flags & ts.TypeFlags.Any) {
      console.log(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${node.text} is any`);
    }
    ts.forEachChild(node, look);
  };
  look(file);
}
