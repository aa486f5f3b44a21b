import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Reads texts, each as UTF-16 units in hexadecimal on a line, and prints 1 for those that are regular expressions. */
public class PatternVectors {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            StringBuilder text = new StringBuilder();
            for (String unit : line.split(" ")) {
                if (!unit.isEmpty()) text.append((char) Integer.parseInt(unit, 16));
            }
            System.out.println(compiles(text.toString()) ? 1 : 0);
        }
    }

    private static boolean compiles(String text) {
        try {
            Pattern.compile(text);
            return true;
        } catch (PatternSyntaxException e) {
            return false;
        }
    }
}
