package doorkeeper;

import io.kroxylicious.proxy.filter.FilterFactory;
import io.kroxylicious.proxy.filter.FilterFactoryContext;
import io.kroxylicious.proxy.plugin.Plugin;

/** Makes the filter, one for each connection. */
@Plugin(configType = Void.class)
public final class JudgeFilterFactory implements FilterFactory<Void, Void> {
    @Override
    public Void initialize(FilterFactoryContext context, Void config) {
        return null;
    }

    @Override
    public JudgeFilter createFilter(FilterFactoryContext context, Void initialized) {
        return new JudgeFilter();
    }
}
